/** When a row that waits is due: promise 7, by the table of beyond §1. */
import type { SubmissionRow } from '../src/storage/schema.ts';
import type { Attempt } from '../src/submissions/attempts.ts';
import type { Outcome } from '../src/upstream/upstream.ts';

const MINUTES = [1, 5, 30, 120, 360, 720, 1_440];
const MINUTE_MS = 60_000;
const JITTER = 0.1;
/** Whoever is stopped inside a transaction commits so much later. */
const COMMITS_WITHIN_MS = 20_000;

type Row = Pick<SubmissionRow, 'status' | 'step' | 'attempt_by' | 'next_attempt_ms'>;

type Moment = {
  /** What was last learned of it. */
  learned: Outcome | undefined;
  /** How long ago its lease ended; undefined where that is not known. */
  sinceLeaseMs: number | undefined;
  /** By the clock that schedules go by. */
  now: number;
  /** Whether that clock was set lately. */
  isMoved: boolean;
};

/** Takes a row before and after an attempt, and its attempts; returns what is wrong with its schedule. */
export function faultOfSchedule(
  before: Row,
  after: Row,
  attempts: readonly Attempt[],
  { learned, sinceLeaseMs, now, isMoved }: Moment,
): string | undefined {
  if (after.status !== 'waiting') {
    return after.next_attempt_ms === null ? undefined : 'has ended, and has a schedule';
  }
  const { step, next_attempt_ms: due } = after;
  if (before.attempt_by === 'person' || before.attempt_by === 'operator') return undefined;
  if (step !== (before.step === null ? 0 : before.step + 1)) return `goes to step ${step}`;
  const delayMs = (MINUTES[step] ?? Number.NaN) * MINUTE_MS;
  if (due === null || Number.isNaN(delayMs)) return 'waits for nothing';
  if (isMoved) return undefined;
  const outcome = attempts.at(-1)?.outcome;
  const isAsked = outcome === 'rateLimited' && learned?.kind === 'rateLimited';
  const askedMs = isAsked ? learned.retryAfterSeconds * 1_000 : 0;
  const least = Math.max(delayMs * (1 - JITTER), askedMs) - COMMITS_WITHIN_MS;
  const most = Math.max(delayMs, askedMs) * (1 + JITTER) + 1_000;
  const isUnknown = outcome === 'unknown';
  if (isUnknown && sinceLeaseMs === undefined) return undefined;
  const inMs = due - now + (isUnknown ? (sinceLeaseMs ?? 0) : 0);
  // Whoever found it may be stopped before it is written.
  const isLate = inMs > most && !isUnknown;
  return inMs < least || isLate ? `is due in ${inMs} ms at step ${step}` : undefined;
}
