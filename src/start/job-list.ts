/** The list of all periodic jobs, and their start and end. Every instance runs these jobs. */
import type { Executions } from '../actions/executions.ts';
import { openRecovery } from '../actions/recovery.ts';
import { openRetention } from '../actions/retention.ts';
import type { PendingConfirmations } from '../confirmations/pending.ts';
import { openSweep } from '../confirmations/sweep.ts';
import type { Honeypots } from '../intake/honeypots.ts';
import type { Outbox } from '../mail/outbox.ts';
import { openNewsletterSweep } from '../newsletter/sweep.ts';
import type { Alerts } from '../notices/alerts.ts';
import { noticeIsOpen } from '../notices/notices.ts';
import type { Clock } from '../platform/clock.ts';
import { type Job, openJob } from '../platform/jobs.ts';
import { once } from '../platform/lazy.ts';
import type { Log } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';
import { openSandboxRetention } from '../sandbox/retention.ts';
import type { Storage } from '../storage/database.ts';
import type { Scrubbing } from '../storage/scrubbing.ts';
import { completeExpiredAttempts } from '../submissions/attempts.ts';
import type { LeadStore } from '../submissions/lead-store.ts';
import { openRedelivery } from '../submissions/redelivery.ts';
import { openSubmissionRetention } from '../submissions/retention.ts';

const HOUR_MS = 3_600_000;

type Working = {
  storage: Storage;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  executions: Executions;
  submissions: LeadStore;
  pending: PendingConfirmations;
  scrubbing: Scrubbing;
  honeypots: Honeypots;
  alerts: Alerts;
  outbox: Outbox | undefined;
  /** Answers confirmations of sandbox clients. */
  presses: Job;
  /** `RECEIPT_RETENTION_DAYS` and `SUBMISSION_RETENTION_DAYS`. */
  receiptDays: number;
  submissionDays: number;
};

/** Returns the jobs of a process by name. */
export function openJobs(parts: Working) {
  const { storage, clock, log, submissions, submissionDays, receiptDays: days } = parts;
  return {
    recovery: openRecovery({ ...parts, submissions: { settleExpired: () => completeExpiredAttempts(submissions) } }),
    ...openRedelivery(submissions),
    outbox: parts.outbox,
    alerts: parts.alerts,
    honeypots: parts.honeypots,
    scrubbing: parts.scrubbing,
    receipts: openRetention({ storage, clock, log, days }),
    confirmations: openSweep({ ...parts, days }),
    submissions: openSubmissionRetention({ ...parts, days: submissionDays, isAwaited: noticeIsOpen }),
    subscribers: openNewsletterSweep(parts),
    presses: parts.presses,
    sandbox: openSandboxRetention(parts),
    // Old rows are deleted even if the console is off (reference §12.3).
    console: openJob({
      clock,
      everyMs: HOUR_MS,
      async work() {
        const { deleteExpired } = await import('../console/sessions.ts');
        await deleteExpired(storage, { nowMs: clock.now().getTime(), days });
      },
      failed: (error) => log.error({ err: error }, 'expired console rows not deleted'),
    }),
    oauth: openJob({
      clock,
      everyMs: HOUR_MS,
      async work() {
        const { deleteExpired } = await import('../oauth/connections.ts');
        await deleteExpired(storage, clock.now());
      },
      failed: (error) => log.error({ err: error }, 'expired connections not deleted'),
    }),
  };
}

type Jobs = Record<'recovery' | 'redelivery' | 'resend', Job> & {
  [name: string]: Pick<Job, 'start' | 'close'> | undefined;
};

/**
 * Starts all jobs. Returns a function that closes all jobs except recovery. Recovery continues during the last requests
 * of a shutdown, and the caller closes it before the store.
 */
export function startJobs(jobs: Jobs): () => Promise<void> {
  const { recovery, ...others } = jobs;
  const { redelivery, resend } = jobs;
  // A process that died may have left executions to settle and submissions to redeliver.
  void recovery.run().then(() => Promise.all([redelivery.run(), resend.run()]));
  for (const job of Object.values(jobs)) job?.start();
  return once(async () => {
    await Promise.all(Object.values(others).map((job) => job?.close()));
  });
}
