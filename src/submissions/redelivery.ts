/**
 * Retries unconfirmed browser submissions by their schedule, and resends at once the submissions that the operator
 * marked (reference §10.9). Any instance runs these jobs, each with one row at a time.
 */
import { type Job, openJob } from '../platform/jobs.ts';
import type { Outcome } from '../upstream/upstream.ts';
import { completeAttempt, leaseAttempt, sendAttempt } from './attempts.ts';
import type { LeadStore } from './lead-store.ts';

const POLL_EVERY_MS = 5_000;

/** Pause after a redelivery without an HTTP status, because other rows would fail too. */
const PAUSE_MS = 60_000;

/** The jobs are separate, because the operator's request must not wait for a long redelivery. */
export type Redelivery = { redelivery: Job; resend: Job };

/** Returns the jobs that send due and requested submissions. Without an upstream, the jobs do nothing. */
export function openRedelivery(submissions: LeadStore): Redelivery {
  const { storage, clock, log, upstream, queries, redelivery: redelivers } = submissions;
  let pausedUntil = Number.NEGATIVE_INFINITY;

  /** Attempts the first due or requested row and returns its outcome, or undefined if there is no such row. */
  async function next(by: 'redelivery' | 'operator', signal: AbortSignal): Promise<Outcome | undefined> {
    const find = by === 'operator' ? queries.nextRequested : queries.nextDue;
    while (upstream !== undefined && !signal.aborted) {
      const [row] = await storage.read(find({}));
      if (row === undefined) return undefined;
      const leased = await leaseAttempt(submissions, row, by);
      // Another instance or the person leased the row first, but there may be more rows.
      if (leased === undefined) continue;
      const attempted = await sendAttempt(submissions, leased);
      const { outcome } = attempted;
      // The pause begins before the write of the outcome, which may fail.
      if (by === 'redelivery' && isAway(outcome)) pausedUntil = clock.monotonic() + PAUSE_MS;
      const { kind } = await completeAttempt(submissions, leased, attempted);
      log.info({ submissionId: row.id, by, outcome, status: kind }, 'submission resent');
      return outcome;
    }
    return undefined;
  }

  async function redeliver(signal: AbortSignal): Promise<void> {
    while (redelivers && !signal.aborted && clock.monotonic() >= pausedUntil) {
      if ((await next('redelivery', signal)) === undefined) return;
    }
  }

  async function resend(signal: AbortSignal): Promise<void> {
    while ((await next('operator', signal)) !== undefined);
  }

  const jobOf = (work: (signal: AbortSignal) => Promise<void>) =>
    openJob({
      clock,
      everyMs: POLL_EVERY_MS,
      work,
      failed: (error) => log.error({ err: error }, 'submissions not resent'),
      repeatsFailures: true,
    });
  return { redelivery: jobOf(redeliver), resend: jobOf(resend) };
}

/** Returns true if the attempt got no HTTP status. */
function isAway(outcome: Outcome): boolean {
  return outcome.kind === 'unconfirmed' && outcome.status === undefined;
}
