/**
 * Recovery: executions whose process died in the middle are settled as `failed` once their lease has run out
 * (contract §4, "A claim is one atomic statement"), and people's submissions wait for their redelivery (beyond
 * §1). Whichever instance is there does it.
 */
import { type Clock, every } from '../clock.ts';
import type { Log } from '../operations/log.ts';
import type { Submissions } from '../submissions/submissions.ts';
import type { Executions } from './executions.ts';

/** How often they are looked for. */
export const RECOVER_EVERY_MS = 5_000;

export type Recovery = {
  /** Settles what has run out by now; a fault is logged, and the next time tries again. */
  work(): Promise<void>;
  /** Works every five seconds from the next ones on, until `close`. */
  start(): void;
  /** Waits for the work under way: after it the store may be closed. */
  close(): Promise<void>;
};

export type RecoveryParts = {
  executions: Pick<Executions, 'settleExpired'>;
  submissions: Pick<Submissions, 'settleExpired'>;
  clock: Clock;
  log: Log;
};

/** Does nothing before `work` or `start`. */
export function openRecovery({ executions, submissions, clock, log }: RecoveryParts): Recovery {
  let stop = () => {};
  let working: Promise<void> | undefined;
  let closing = false;

  async function settleAloud(what: string, settle: () => Promise<number>): Promise<void> {
    try {
      const count = await settle();
      if (count > 0) log.warn({ count }, `${what} whose lease ran out were settled`);
    } catch (error) {
      log.error({ err: error }, `expired ${what} could not be settled`);
    }
  }

  async function settleAll(): Promise<void> {
    await settleAloud('executions', executions.settleExpired);
    await settleAloud('submissions', submissions.settleExpired);
  }

  /** Never overlaps itself: what runs out meanwhile is found the next time. */
  async function work(): Promise<void> {
    if (closing) return;
    working ??= settleAll().finally(() => {
      working = undefined;
    });
    await working;
  }

  return {
    work,
    start() {
      stop = every(clock, RECOVER_EVERY_MS, work);
    },
    async close() {
      closing = true;
      stop();
      await working;
    },
  };
}
