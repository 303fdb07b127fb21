/** Decides what follows an attempt of a browser's submission: the table of reference §10.9. */
import { randomInt } from '../platform/random.ts';
import type { SubmissionReason, SubmissionRow } from '../storage/schema.ts';
import type { Outcome } from '../upstream/upstream.ts';

/** Delays after the first attempt, and after each redelivery except the last redelivery. */
const DELAYS_MS = [1, 5, 30, 2 * 60, 6 * 60, 12 * 60, 24 * 60].map((minutes) => minutes * 60_000);

/** The delay varies by up to a tenth, in `JITTER_STEPS` steps, because submissions that failed together must spread. */
const JITTER = 0.1;
const JITTER_STEPS = 2_001;

export type Next =
  | { kind: 'delivered' }
  | { kind: 'undelivered'; reason: SubmissionReason }
  /** The redelivery with the number `step` is due `delayMs` milliseconds after the end of the attempt. */
  | { kind: 'waiting'; step: number; delayMs: number }
  /** The row continues as before the attempt. */
  | { kind: 'resumed' };

/** An ended attempt. `step` is the number of redeliveries, or null in the first attempt. */
export type Ended = Pick<SubmissionRow, 'attempt_by' | 'resumed_status' | 'step'>;

/** Returns what follows an attempt. `redelivery` is the setting `REDELIVERY`. */
export function nextOf(
  { attempt_by: by, resumed_status: resumedStatus, step }: Ended,
  outcome: Outcome | { kind: 'unknown' },
  redelivery: boolean,
  draw = randomInt,
): Next {
  if (outcome.kind === 'confirmed') return { kind: 'delivered' };
  // An earlier copy has arrived, so the outcome of another copy changes nothing.
  if (resumedStatus === 'delivered') return { kind: 'resumed' };
  if (outcome.kind === 'rejected') return { kind: 'undelivered', reason: 'rejected' };
  if (by === 'person' || by === 'operator') return { kind: 'resumed' };
  if (!redelivery && by === 'first') return { kind: 'undelivered', reason: 'redelivery_off' };
  const next = step === null ? 0 : step + 1;
  const delay = DELAYS_MS[next];
  if (delay === undefined) return { kind: 'undelivered', reason: 'attempts_used_up' };
  const share = (2 * draw(JITTER_STEPS)) / (JITTER_STEPS - 1) - 1;
  const jittered = delay * (1 + JITTER * share);
  if (outcome.kind !== 'rateLimited') return { kind: 'waiting', step: next, delayMs: jittered };
  const asked = outcome.retryAfterSeconds * 1_000;
  const delayMs = asked > delay ? asked * (1 + JITTER * Math.abs(share)) : Math.max(jittered, asked);
  return { kind: 'waiting', step: next, delayMs };
}
