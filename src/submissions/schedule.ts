/** What becomes of a browser's submission when an attempt has ended: the table of beyond §1. */
import { below } from '../chance.ts';
import type { AttemptBy, SubmissionReason, SubmissionStatus } from '../storage/schema.ts';
import type { Outcome } from '../upstream/upstream.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** After the first attempt, and after each redelivery but the last. */
const DELAYS_MS = [
  MINUTE_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  6 * HOUR_MS,
  12 * HOUR_MS,
  24 * HOUR_MS,
];

/** So that what failed together does not come back together: a tenth, either way. */
const JITTER = 0.1;

/** How fine the chance is drawn. */
const GRAINS = 2_001;

export type Next =
  | { kind: 'delivered' }
  | { kind: 'undelivered'; reason: SubmissionReason }
  /** Due so many milliseconds after the end of the attempt, for the redelivery of that number. */
  | { kind: 'waiting'; step: number; delayMs: number }
  /** As if nothing had been tried. */
  | { kind: 'resumed' };

export type Ended = {
  by: AttemptBy;
  /** What the row was before this attempt; null in its first one. */
  resumedStatus: SubmissionStatus | null;
  /** How many redeliveries there were; null before its first attempt has ended. */
  step: number | null;
};

/** Takes an attempt that has ended, how, whether redelivery is on, and what draws a number below another. */
export function nextOf(
  { by, resumedStatus, step }: Ended,
  outcome: Outcome | { kind: 'unknown' },
  redelivery: boolean,
  draw = below,
): Next {
  if (outcome.kind === 'confirmed') return { kind: 'delivered' };
  // It has arrived once: that another copy was not taken changes nothing.
  if (resumedStatus === 'delivered') return { kind: 'resumed' };
  if (outcome.kind === 'rejected') return { kind: 'undelivered', reason: 'rejected' };
  if (by === 'person' || by === 'operator') return { kind: 'resumed' };
  if (!redelivery && by === 'first') return { kind: 'undelivered', reason: 'redelivery_off' };
  const next = step === null ? 0 : step + 1;
  const delay = DELAYS_MS[next];
  if (delay === undefined) return { kind: 'undelivered', reason: 'attempts_used_up' };
  const share = (2 * draw(GRAINS)) / (GRAINS - 1) - 1;
  const jittered = delay * (1 + JITTER * share);
  if (outcome.kind !== 'rateLimited') return { kind: 'waiting', step: next, delayMs: jittered };
  const asked = outcome.retryAfterSeconds * 1_000;
  const delayMs =
    asked > delay ? asked * (1 + JITTER * Math.abs(share)) : Math.max(jittered, asked);
  return { kind: 'waiting', step: next, delayMs };
}
