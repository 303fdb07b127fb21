/**
 * When a success is answered, so that nobody learns from the time whether an address was on the list
 * (spec §4.7), or that a honeypot was filled (contract §4, "Timing").
 */
import { below } from '../chance.ts';
import type { Clock } from '../clock.ts';
import type { FormResult } from './leads.ts';

/** More than the commits of a new subscription take; a person notices none of it. */
const STEP_MS = 50;

/**
 * Requests that arrived together are answered apart. A bot waits for a time that is drawn, and so leaves the
 * others of its moment; without this, what they cost each other told a bot from people by 0.3 ms.
 */
const SPREAD_MS = 16;

/** So many of the last answers are kept of each kind: enough to look like them, and a bound. */
const KEPT = 32;

/** What a bot waits where no person was answered yet: about a request to a server elsewhere. */
const FIRST_MS = 100;

export type AnswerTimes = {
  /** Resolves when this result may be answered; a refusal at once. */
  wait(result: FormResult): Promise<void>;
};

/** Takes the clock and what draws a whole number below another; remembers in this process alone. */
export function openAnswerTimes(clock: Clock, draw = below): AnswerTimes {
  const last = { 'lead.created': [] as number[], 'subscriber.created': [] as number[] };

  return {
    wait: async (result) => {
      if (result.kind !== 'accepted') return;
      const { event, upstream } = result;
      const kept = last[event];
      let answeredAt: number;
      if (upstream === undefined) {
        answeredAt = clock.monotonic() + (kept[draw(kept.length)] ?? FIRST_MS);
      } else {
        answeredAt = upstream.answeredAt;
        kept.push(upstream.tookMs);
        if (kept.length > KEPT) kept.shift();
      }
      // A lead tells nobody who is on the list: a person waits for the upstream alone.
      if (event === 'subscriber.created') {
        await untilStep(clock, answeredAt);
        await clock.sleep(draw(SPREAD_MS));
      } else if (upstream === undefined) {
        await clock.sleep(answeredAt - clock.monotonic());
      }
    },
  };
}

/** From the upstream's answer on: counted from the request, what is done after it could cross a step. */
async function untilStep(clock: Clock, answeredAt: number): Promise<void> {
  // A timer counts from the beginning of its turn, in which a commit may have taken its time.
  await clock.turn();
  const elapsed = clock.monotonic() - answeredAt;
  // A bot's is still to come: one timer for both, for each is a little late.
  const step = Math.max(Math.floor(elapsed / STEP_MS), 0) + 1;
  await clock.sleep(step * STEP_MS - elapsed);
}
