/**
 * When a subscription is answered: at a whole step of time since it came, so that nobody learns from
 * the time whether an address was on the list, or whether a bot was taken for one (spec §4.7).
 */
import type { Clock } from '../clock.ts';

/** More than the commits of a new subscription take; a person notices none of it. */
const STEP_MS = 50;

/** Takes when the request came, on the monotonic clock; resolves at the end of the step. */
export async function untilStep(clock: Clock, cameAt: number): Promise<void> {
  // A timer counts from the beginning of its turn, in which a commit may have taken its time.
  await clock.turn();
  const elapsed = clock.monotonic() - cameAt;
  await clock.sleep(STEP_MS - (elapsed % STEP_MS));
}
