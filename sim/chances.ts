/** How likely each fault is in one run: every seed has its own mixture, many of them with some at zero. */
import type { Random } from '../chaos/random.ts';

/** Up to three leases. */
export const PAUSE_MAXIMUM_MS = 18_000;

const HOUR_MS = 3_600_000;

/** How far a wall clock steps. */
export const STEPS_MS = [HOUR_MS, -HOUR_MS, 72 * HOUR_MS, -72 * HOUR_MS, 5_000, -5_000];

export type Chances = {
  /** Of a statement, before and after it. */
  statementFails: number;
  commitAnswerLost: number;
  crashAtStatement: number;
  pauseAtStatement: number;
  pauseBeforeSend: number;
  /** Of what the upstream does with a request. */
  upstreamTrouble: number;
  mailTrouble: number;
  /** How many strike in a run. */
  crashes: number;
  pauses: number;
  clockSteps: number;
  storeOutages: number;
  drains: number;
};

/** Draws the mixture of one run. */
export function drawChances(random: Random): Chances {
  const some = (most: number) => (random.chance(0.5) ? 0 : random.between(0, most));
  return {
    statementFails: some(0.1),
    commitAnswerLost: some(0.15),
    crashAtStatement: some(0.05),
    pauseAtStatement: some(0.08),
    pauseBeforeSend: some(0.3),
    upstreamTrouble: some(0.8),
    mailTrouble: some(0.5),
    crashes: Math.round(some(4)),
    pauses: Math.round(some(5)),
    clockSteps: Math.round(some(4)),
    storeOutages: Math.round(some(2)),
    drains: Math.round(some(3)),
  };
}
