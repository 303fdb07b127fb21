/**
 * Messages that an instance of the version before has kept in the table `outbox`, which it may still write to
 * during a roll. What is not under way there is moved: deleted there and inserted here in one transaction, so
 * that no message is sent by both.
 */
import type { ExpressionBuilder } from 'kysely';
import type { Storage } from '../storage/database.ts';
import type { Schema } from '../storage/schema.ts';
import { CAP_MS } from './daily-cap.ts';
import { PRIORITY } from './messages.ts';

/** One commit's worth. */
const BATCH_ROWS = 200;

/** Moves them, in batches; takes for how long an attempt of that version can be under way. */
export async function adoptOlder(storage: Storage, underWayMs: number): Promise<void> {
  const isAtRest = (row: ExpressionBuilder<Schema, 'outbox'>) => {
    const { leaseClock } = storage.dialect;
    return row.or([
      row('attempt_started_ms', 'is', null),
      row('attempt_started_ms', '>', leaseClock),
      row('attempt_started_ms', '<=', row(leaseClock, '-', underWayMs)),
    ]);
  };
  for (;;) {
    const found = await storage.read((db) =>
      db.selectFrom('outbox').select('mailbox').where(isAtRest).limit(BATCH_ROWS),
    );
    if (found.length === 0) return;
    const mailboxes = found.map(({ mailbox }) => mailbox);
    await storage.write(async (tx) => {
      const rows = await tx
        .deleteFrom('outbox')
        .where('mailbox', 'in', mailboxes)
        .where(isAtRest)
        .returningAll()
        .execute();
      for (const { mailbox, ...row } of rows) {
        const kept = { kind: 'confirmation' as const, key: mailbox, about: null };
        const moved = { ...row, ...kept, priority: PRIORITY.confirmation };
        const cappedUntil = new Date(Date.parse(row.requested_at) - CAP_MS).toISOString();
        await tx
          .insertInto('messages')
          .values(moved)
          // The mailbox has a message of its own here, within the cap: one is enough.
          .onConflict((conflict) =>
            conflict
              .columns(['kind', 'key'])
              .doUpdateSet(moved)
              .where('messages.requested_at', '<=', cappedUntil),
          )
          .execute();
      }
    });
  }
}
