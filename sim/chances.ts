/**
 * Probabilities and numbers of the faults in one run. Every seed draws different values, and many seeds set some of the
 * values to zero.
 */
import type { Random } from '../chaos/random.ts';

/** Longest pause of a process: three leases. */
const PAUSE_MAXIMUM_MS = 18_000;
/** Longest pause in a long run. This pause exceeds the shortest back-off of the outbox, which is one minute. */
const LONG_PAUSE_MAXIMUM_MS = 100_000;

const HOUR_MS = 3_600_000;

/** Steps of a wall clock, in milliseconds. */
const STEPS_MS = [HOUR_MS, -HOUR_MS, 72 * HOUR_MS, -72 * HOUR_MS, 5_000, -5_000];
/**
 * Steps of a wall clock, including a step beyond the retention period. With that step, a claimed message would become
 * due after the end of the run.
 */
const STEPS_WITHOUT_MAIL_MS = [...STEPS_MS, 40 * 24 * HOUR_MS];

export type Chances = {
  /** Probability that a statement fails, drawn before the statement and again after it. */
  statementFails: number;
  commitAnswerLost: number;
  crashAtStatement: number;
  pauseAtStatement: number;
  /** Probability of a pause between the claim of an outbox row and its send. */
  pauseInClaim: number;
  pauseBeforeSend: number;
  pauseAtAnswer: number;
  /** Probability that the process is killed before the first byte or when the answer arrives. */
  killAtSend: number;
  /** Probability that the store becomes unavailable when the upstream answers. */
  awayAtAnswer: number;
  /** Probability that the store becomes unavailable when a person sends a form. */
  awayAtForm: number;
  /** Probability that the insert of a person's submission succeeds, but takes longer than the person waits. */
  slowInsert: number;
  /** Probability that the upstream fails, answers late or loses its answer. */
  upstreamTrouble: number;
  mailTrouble: number;
  /** Number of crashes in a run. The next six fields are numbers of faults, too. */
  crashes: number;
  restarts: number;
  pauses: number;
  clockSteps: number;
  storeOutages: number;
  drains: number;
  retentions: number;
  /** Number of times that the database's wall clock leaps to a time at which a row is due. */
  leaps: number;
  /** Number of times that the operator resends rows. `dismissals` counts the dismissed rows. */
  resends: number;
  dismissals: number;
  pauseMaximumMs: number;
  stepsMs: readonly number[];
  /** True if a transaction on SQLite takes simulated time, during which other requests run. */
  slowTransactions: boolean;
};

/** Properties of a run: `mails` if it sends mail, and `long` if a second attempt of a message fits into it. */
export type Course = { mails: boolean; long: boolean };

/** Draws the probabilities of one run. */
export function drawChances(random: Random, { mails, long }: Course): Chances {
  const some = (most: number) => (random.chance(0.5) ? 0 : random.between(0, most));
  // A long run has more statements. With the same probabilities, its processes would be down too often.
  const each = long ? 0.2 : 1;
  return {
    statementFails: some(0.1 * each),
    commitAnswerLost: some(0.15),
    crashAtStatement: some(0.05 * each),
    pauseAtStatement: some(0.08 * each),
    pauseInClaim: long ? random.between(0, 0.6) : 0,
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
    awayAtForm: some(0.7),
    leaps: Math.round(some(5)),
    resends: Math.round(some(3)),
    dismissals: Math.round(some(2)),
    slowInsert: some(0.9),
  };
}
