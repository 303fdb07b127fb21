/**
 * When something became of a subscriber, as its event says it (beyond §6): the order of events is not promised, so
 * whoever is told of several goes by their timestamps.
 */
import type { OpenTransaction } from '../storage/database.ts';
import type { SubscriberRow } from '../storage/subscriber-schema.ts';
import type { Event } from '../upstream/upstream.ts';
import { lastEventsOf } from './subscriber-queries.ts';

/** Of a row, or of one that is to be. */
type Told = Pick<SubscriberRow, 'id' | 'consent_recorded_at' | 'confirmed_at' | 'unsubscribed_at'>;

/**
 * Takes a row that this transaction holds, and now; returns a moment later than all that was told of it, whichever
 * process's clock that went by.
 */
export async function momentAfter(tx: OpenTransaction, row: Told, now: string): Promise<string> {
  const events = await lastEventsOf(tx, row.id).execute();
  const told = events.map(({ event }) => (JSON.parse(event) as Event).timestamp);
  const { consent_recorded_at, confirmed_at, unsubscribed_at } = row;
  const last = [consent_recorded_at, confirmed_at ?? '', unsubscribed_at ?? '', ...told]
    .sort()
    .at(-1);
  if (last === undefined || last < now) return now;
  return new Date(Date.parse(last) + 1).toISOString();
}
