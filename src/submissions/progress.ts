/** The operator's work on submissions: progress and note (reference §12.14). */
import { sql } from 'kysely';
import type { OpenTransaction, ReadOnly } from '../storage/database.ts';
import type { Progress, SubmissionReason } from '../storage/schema.ts';
import { redactedColumns } from './submission-queries.ts';

type Dialect = Pick<ReadOnly, 'dialect'>;

/** The progress of one submission before a change. */
export type Previous = { id: string; progress: Progress };

export type ProgressChange = {
  /** The submissions that exist, in the order of the ids. */
  changed: Previous[];
  /** Number of submissions whose delivery ended, because they are spam. */
  dismissed: number;
};

/** Sets the progress of all these submissions. Spam is also dismissed, or will be by the end of its attempt. */
export async function setProgress(
  storage: Dialect,
  tx: OpenTransaction,
  ids: readonly string[],
  { progress, keepsContent }: { progress: Progress; keepsContent: boolean },
): Promise<ProgressChange> {
  const changed = await tx
    .selectFrom('submissions')
    .select(['id', 'progress'])
    .where('id', 'in', ids)
    // Every change of several rows locks them in this order.
    .orderBy('id')
    .$call(storage.dialect.forUpdate)
    .execute();
  if (changed.length === 0) return { changed, dismissed: 0 };
  const found = changed.map(({ id }) => id);
  await tx.updateTable('submissions').set({ progress }).where('id', 'in', found).execute();
  const dismissed = progress === 'spam' ? await dismissSpam(storage, tx, found, keepsContent) : 0;
  return { changed, dismissed };
}

async function dismissSpam(
  storage: Dialect,
  tx: OpenTransaction,
  ids: readonly string[],
  keepsContent: boolean,
): Promise<number> {
  const ended = await tx
    .updateTable('submissions')
    .set({
      status: 'dismissed',
      // A submission that was sent unstored keeps its reason, because the service never sends it again.
      reason: sql<SubmissionReason>`case when reason = 'sent_unkept' then reason else 'spam' end`,
      status_since_ms: storage.dialect.wallClock,
      step: null,
      next_attempt_ms: null,
      resend_asked_ms: null,
      ...(!keepsContent && redactedColumns(storage)),
    })
    .where('id', 'in', ids)
    .where('status', 'in', ['waiting', 'undelivered'])
    .executeTakeFirst();
  // The reason of a row under way decides the end of its attempt (`ifSpam`). An earlier copy of a row may have arrived.
  const marked = await tx
    .updateTable('submissions')
    .set({ reason: 'spam' })
    .where('id', 'in', ids)
    .where('status', '=', 'sending')
    .where((row) => row.or([row('resumed_status', 'is', null), row('resumed_status', '<>', 'delivered')]))
    .executeTakeFirst();
  return Number(ended.numUpdatedRows + marked.numUpdatedRows);
}

/** Restores the progress of each submission whose progress is still `to`. Returns the ids of these submissions. */
export async function restoreProgress(
  tx: OpenTransaction,
  { to, previous }: { to: Progress; previous: readonly Previous[] },
): Promise<string[]> {
  const restored: string[] = [];
  for (const { id, progress } of previous) {
    const { numUpdatedRows } = await tx
      .updateTable('submissions')
      .set({ progress })
      .where('id', '=', id)
      .where('progress', '=', to)
      .executeTakeFirst();
    if (numUpdatedRows > 0n) restored.push(id);
  }
  return restored;
}

/** Sets the note, or removes it. Returns false if there is no such submission, or if its content is deleted. */
export async function setNote(tx: OpenTransaction, id: string, note: string | null): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('submissions')
    .set({ note })
    .where('id', '=', id)
    .where('email', 'is not', null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}
