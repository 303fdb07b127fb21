/**
 * Sets executions whose process died to `failed` once their lease has expired (reference §5.10). Browser submissions of
 * a dead process then wait for redelivery (reference §10.6). Each instance runs this job.
 */
import type { Clock } from '../platform/clock.ts';
import { type Job, openJob } from '../platform/jobs.ts';
import type { Log } from '../platform/log.ts';
import type { Executions } from './executions.ts';

/** Interval of the job, in milliseconds. */
export const RECOVER_EVERY_MS = 5_000;

type RecoveryParts = {
  executions: Pick<Executions, 'settleExpired'>;
  submissions: { settleExpired(): Promise<number> };
  clock: Clock;
  log: Log;
};

/** Returns the job that settles expired leases. The job logs each fault. */
export function openRecovery({ executions, submissions, clock, log }: RecoveryParts): Job {
  async function settleAndLog(what: string, settle: () => Promise<number>): Promise<void> {
    try {
      const count = await settle();
      if (count > 0) log.warn({ count }, `expired ${what} settled`);
    } catch (error) {
      log.error({ err: error }, `expired ${what} not settled`);
    }
  }

  return openJob({
    clock,
    everyMs: RECOVER_EVERY_MS,
    async work() {
      await settleAndLog('executions', executions.settleExpired);
      await settleAndLog('submissions', submissions.settleExpired);
    },
  });
}
