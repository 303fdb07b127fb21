/**
 * The embedded destination: a table in the database. For an execution, delivery and settling are
 * one transaction (contract §4); a browser's submission is one insert.
 */
import type { Clock } from '../clock.ts';
import { type Storage, StorageUnavailable } from '../storage/database.ts';
import { prepareChange } from '../storage/prepare-query.ts';
import type { InboxRow } from '../storage/schema.ts';
import type { Upstream } from './upstream.ts';

/** Inside a transaction of the caller an absent store throws; by itself it is unconfirmed. */
export function openInbox(storage: Storage, clock: Clock): Upstream {
  const insert = prepareInsert(storage);
  return {
    embedded: true,
    deliver: async (event, { within }) => {
      const stored = insert({
        event_id: event.data.id,
        type: event.type,
        form: event.data.form,
        email: event.data.fields.email ?? '',
        received_at: clock.now().toISOString(),
        event: JSON.stringify(event),
      });
      try {
        const count = await (within?.change(stored) ?? storage.write(stored));
        // A subscriber who is on the list already is confirmed as known, and stays one row.
        return { kind: 'confirmed', known: count === 0 };
      } catch (error) {
        if (within !== undefined || !(error instanceof StorageUnavailable)) throw error;
        return { kind: 'unconfirmed', reason: 'The inbox could not be written.' };
      }
    },
    close: async () => {},
  };
}

function prepareInsert(storage: Storage) {
  return prepareChange(storage, (db, of: InboxRow) =>
    db
      .insertInto('inbox')
      .values(of)
      .onConflict((conflict) => conflict.doNothing()),
  );
}
