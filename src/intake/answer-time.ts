/**
 * The time of a successful answer. This time must not reveal whether an address was subscribed, or that a honeypot was
 * filled (reference §4.10).
 */

import type { Clock } from '../platform/clock.ts';
import { randomInt } from '../platform/random.ts';
import type { FormResult } from './leads.ts';

/** Length of a step, which is longer than the commits of a new subscription, and too short for a person to notice. */
const STEP_MS = 50;

/**
 * Upper limit of a random time that is added to each answer. Among requests that arrive together, answers to bots and
 * to people differ by 0.3 ms. Without the random time, this difference would reveal the honeypot.
 */
const SPREAD_MS = 16;

/** Number of recent answer times of each event, from which the answer time of a bot is drawn. */
const RECENT_TIMES = 32;

/**
 * Answer time of a bot before the first person was answered, in milliseconds. A request to a remote server takes about
 * this time.
 */
const FIRST_MS = 100;

/** `draw` returns a random whole number below its argument. Each process has its own recent times. */
export function openAnswerTimes(clock: Clock, draw = randomInt) {
  const recent = { 'lead.created': [] as number[], 'subscriber.created': [] as number[] };

  return {
    /** Resolves when the result may be answered. A refusal is answered at once. */
    async wait(result: FormResult): Promise<void> {
      if (result.kind !== 'accepted') return;
      const { event, upstream } = result;
      const times = recent[event];
      let answeredAt: number;
      if (upstream === undefined) {
        answeredAt = clock.monotonic() + (times[draw(times.length)] ?? FIRST_MS);
      } else {
        answeredAt = upstream.answeredAt;
        times.push(upstream.tookMs);
        if (times.length > RECENT_TIMES) times.shift();
      }
      // The time of a lead reveals no subscription, so a person waits only for the upstream.
      if (event === 'subscriber.created') {
        await untilStep(clock, answeredAt);
        await clock.sleep(draw(SPREAD_MS));
      } else if (upstream === undefined) {
        await clock.sleep(answeredAt - clock.monotonic());
      }
    },
  };
}

/**
 * Waits until a whole number of steps has passed since the upstream's answer. Steps are not counted from the request,
 * because the time of the upstream could then move the work that follows into another step.
 */
async function untilStep(clock: Clock, answeredAt: number): Promise<void> {
  // A timer counts from the beginning of its event-loop turn, and a commit may have taken long in that turn.
  await clock.turn();
  const elapsed = clock.monotonic() - answeredAt;
  // A bot's time may be in the future. One timer covers both waits, because each timer is a little late.
  const step = Math.max(Math.floor(elapsed / STEP_MS), 0) + 1;
  await clock.sleep(step * STEP_MS - elapsed);
}
