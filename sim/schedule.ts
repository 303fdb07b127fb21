/** Checks when a waiting row is due: invariant 7, by the table of reference §10.9. */
import type { SubmissionRow } from '../src/storage/schema.ts';
import type { Attempt } from '../src/submissions/attempts.ts';
import type { Outcome } from '../src/upstream/upstream.ts';

const MINUTES = [1, 5, 30, 120, 360, 720, 1_440];
const MINUTE_MS = 60_000;
const JITTER = 0.1;
type Row = Pick<SubmissionRow, 'status' | 'step' | 'attempt_by' | 'next_attempt_ms'>;

type Moment = {
  /** The last outcome that a process received for the row. */
  learned: Outcome | undefined;
  /**
   * Times since the row's lease ended and since a process received the outcome, in milliseconds. Undefined if the time is
   * unknown. A process may be stopped several times between this moment and the commit that this check sees.
   */
  sinceLeaseMs: number | undefined;
  sinceLearnedMs: number | undefined;
  /** The clock that schedules use. */
  now: number;
  /** True if the clock of schedules was changed recently. */
  isMoved: boolean;
};

/** Returns the fault in the schedule of a row after an attempt, or undefined if the schedule is correct. */
export function faultOfSchedule(
  before: Row,
  after: Row,
  attempts: readonly Attempt[],
  { learned, sinceLeaseMs, sinceLearnedMs, now, isMoved }: Moment,
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
  const isUnknown = outcome === 'unknown';
  const sinceMs = isUnknown ? sinceLeaseMs : sinceLearnedMs;
  if (sinceMs === undefined) return undefined;
  // The wall clock has no fractions of a millisecond.
  const isEarly = due - now + sinceMs < Math.max(delayMs * (1 - JITTER), askedMs) - 1;
  // The process that found the expired lease may be stopped before it writes.
  const isLate = due - now > Math.max(delayMs, askedMs) * (1 + JITTER) + 1_000 && !isUnknown;
  return isEarly || isLate ? `is due in ${due - now} ms at step ${step}` : undefined;
}
