/** How likely each fault is in one run: every seed has its own mixture, many of them with some at zero. */
import type { Random } from '../chaos/random.ts';

/** Up to three leases. */
const PAUSE_MAXIMUM_MS = 18_000;
/** Beyond the outbox's shortest back-off, which is a minute. */
const LONG_PAUSE_MAXIMUM_MS = 100_000;

const HOUR_MS = 3_600_000;

/** How far a wall clock steps. */
const STEPS_MS = [HOUR_MS, -HOUR_MS, 72 * HOUR_MS, -72 * HOUR_MS, 5_000, -5_000];
/** Past the retention: a message that is taken by such a clock would come due after the run's end. */
const STEPS_WITHOUT_MAIL_MS = [...STEPS_MS, 40 * 24 * HOUR_MS];

export type Chances = {
  /** Of a statement, before and after it. */
  statementFails: number;
  commitAnswerLost: number;
  crashAtStatement: number;
  pauseAtStatement: number;
  /** After a row of the outbox was changed, where the next step is to send it. */
  pauseInTake: number;
  pauseBeforeSend: number;
  pauseAtAnswer: number;
  /** The process dies before the first byte, or as the answer comes. */
  killAtSend: number;
  /** As the upstream's answer comes. */
  awayAtAnswer: number;
  /** As a person sends a form. */
  awayAtForm: number;
  /** Of what the upstream does with a request. */
  upstreamTrouble: number;
  mailTrouble: number;
  /** How many strike in a run. */
  crashes: number;
  restarts: number;
  pauses: number;
  clockSteps: number;
  storeOutages: number;
  drains: number;
  retentions: number;
  /** How often the database's wall clock leaps to where something is due. */
  leaps: number;
  /** How often the operator has rows sent again, or dismisses one. */
  resends: number;
  dismissals: number;
  pauseMaximumMs: number;
  stepsMs: readonly number[];
  /** Whether a transaction on the file takes time, in which others come. */
  slowTransactions: boolean;
};

/** What a run is about: with mail, and so long that a message is tried again. */
export type Course = { mails: boolean; long: boolean };

/** Draws the mixture of one run. */
export function drawChances(random: Random, { mails, long }: Course): Chances {
  const some = (most: number) => (random.chance(0.5) ? 0 : random.between(0, most));
  // The longer the run, the more statements: the more often would nobody be there.
  const each = long ? 0.2 : 1;
  return {
    statementFails: some(0.1 * each),
    commitAnswerLost: some(0.15),
    crashAtStatement: some(0.05 * each),
    pauseAtStatement: some(0.08 * each),
    pauseInTake: long ? random.between(0, 0.6) : 0,
    pauseBeforeSend: some(0.3),
    awayAtAnswer: some(0.15),
    upstreamTrouble: some(0.8),
    mailTrouble: some(0.8),
    crashes: Math.round(some(4)),
    restarts: Math.round(some(2)),
    pauses: Math.round(some(5)),
    clockSteps: Math.round(some(4)),
    storeOutages: Math.round(some(2)),
    drains: Math.round(some(3)),
    retentions: Math.round(some(3)),
    pauseMaximumMs: long ? LONG_PAUSE_MAXIMUM_MS : PAUSE_MAXIMUM_MS,
    stepsMs: mails ? STEPS_MS : STEPS_WITHOUT_MAIL_MS,
    slowTransactions: random.chance(0.4),
    pauseAtAnswer: some(0.2),
    killAtSend: some(0.1),
    awayAtForm: some(0.2),
    leaps: Math.round(some(5)),
    resends: Math.round(some(3)),
    dismissals: Math.round(some(2)),
  };
}
