/**
 * Answers confirmations of sandbox clients whose address has the tag `+presses` or `+declines` (reference §27.5), and
 * ends expired ones and expired executions. Each instance runs this job, so another instance or a restart answers what a
 * dead process did not. Retention deletes only ended executions.
 */
import { decline, type SendParts, sendConfirmed } from '../confirmations/answer.ts';
import type { Confirmations } from '../confirmations/confirmations.ts';
import type { PendingConfirmations } from '../confirmations/pending.ts';
import { isoTime } from '../platform/clock.ts';
import { type Job, openJob } from '../platform/jobs.ts';
import type { Storage } from '../storage/database.ts';
import { pressTagOf } from './tags.ts';

/** Time from the request of a confirmation to its automatic answer. */
const PRESS_AFTER_MS = 2_000;
const EVERY_MS = 5_000;

export type PressParts = SendParts & {
  storage: Storage;
  confirmations: Pick<Confirmations, 'find'>;
  pending: Pick<PendingConfirmations, 'end' | 'expire'>;
};

/** Returns the job, and `expect`, which runs the job when a confirmation that was requested now is due. */
export function openPresses(parts: PressParts): Job & { expect(): void } {
  const { storage, clock, log, metrics, executions, confirmations, pending } = parts;
  const job = openJob({
    clock,
    firstAfterMs: 0,
    everyMs: EVERY_MS,
    async work() {
      await executions.settleExpired();
      metrics.countConfirmation('expired', await pending.expire());
      const until = isoTime(clock.now().getTime() - PRESS_AFTER_MS);
      const due = await storage.read((db) =>
        db
          .selectFrom('confirmations')
          .select(['id', 'email'])
          .where('sandbox', '=', storage.dialect.constant(1))
          .where('fields', 'is not', null)
          .where('created_at', '<=', until)
          .orderBy('created_at'),
      );
      await Promise.all(due.map(({ id, email }) => answer(id, email ?? '')));
    },
    failed: (error) => log.error({ err: error }, 'confirmations of sandbox clients not answered'),
  });

  async function answer(id: string, email: string): Promise<void> {
    const tag = pressTagOf(email);
    const confirmation = tag === undefined ? undefined : await confirmations.find(id);
    if (confirmation?.execution.status !== 'asked') return;
    if (tag === 'declines') await decline(parts, confirmation);
    else await sendConfirmed(parts, confirmation);
  }

  return { ...job, expect: () => void clock.after(PRESS_AFTER_MS, job.soon) };
}
