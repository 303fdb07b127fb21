/**
 * The embedded destination: a table in the database. For an execution, delivery and settling are
 * one transaction (contract §4); a browser's submission is one insert.
 */
import type { Clock } from '../clock.ts';
import { type Storage, StorageUnavailable } from '../storage/database.ts';
import type { Database } from '../storage/schema.ts';
import type { Event, Outcome, Upstream } from './upstream.ts';

/** Inside a transaction of the caller an absent store throws; by itself it is unconfirmed. */
export function openInbox(storage: Storage, clock: Clock): Upstream {
  return {
    embedded: true,
    deliver: async (event, { within }) => {
      if (within !== undefined) return await store(within, event, clock);
      try {
        return await storage.write((own) => store(own, event, clock));
      } catch (error) {
        if (!(error instanceof StorageUnavailable)) throw error;
        return { kind: 'unconfirmed', reason: 'The inbox could not be written.' };
      }
    },
    close: async () => {},
  };
}

/** A subscriber who is on the list already is confirmed as known, and stays one row. */
async function store(within: Database, event: Event, clock: Clock): Promise<Outcome> {
  const stored = await within
    .insertInto('inbox')
    .values({
      event_id: event.data.id,
      type: event.type,
      form: event.data.form,
      email: event.data.fields.email ?? '',
      received_at: clock.now().toISOString(),
      event: JSON.stringify(event),
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('event_id')
    .executeTakeFirst();
  return { kind: 'confirmed', known: stored === undefined };
}
