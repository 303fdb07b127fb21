/**
 * Settings and actors that only some runs have. They have separate random numbers, so that they change nothing in other
 * runs.
 */
import type { Random } from '../chaos/random.ts';

export type Extras = {
  random: Random;
  /** `ACKNOWLEDGE=on`. */
  acknowledges: boolean;
  /** True if `CONTRACTOR_EMAIL` is set. */
  tellsContractor: boolean;
  /** Number of operators who work on leads in the console. */
  operators: number;
  /** Number of hosts that connect with OAuth. */
  hosts: number;
  /** True if a person has everything about them erased. */
  leaves: boolean;
};

/** Draws the extras of one run. */
export function drawExtras(random: Random, { mails }: { mails: boolean }): Extras {
  const oneIn = (times: number) => random.chance(1 / times);
  return {
    random,
    acknowledges: mails && oneIn(3),
    tellsContractor: mails && oneIn(3),
    operators: oneIn(4) ? random.whole(1, 3) : 0,
    hosts: oneIn(5) ? random.whole(1, 2) : 0,
    leaves: oneIn(8),
  };
}
