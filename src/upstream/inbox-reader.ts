/** What the embedded destination holds, read for people: a list, one event, or all of them in pages. */
import type { Selects, Storage } from '../storage/database.ts';
import type { Event } from './upstream.ts';

export type InboxItem = { receivedAt: string; event: Event };

export type InboxFilter = {
  /** Received at that time or later. */
  since?: Date | undefined;
  form?: string | undefined;
};

/** So many rows are in memory at once, however many there are. */
const PAGE_ROWS = 500;

/** The last `limit` events, newest first. */
export async function latestInboxItems(
  storage: Storage,
  filter: InboxFilter,
  limit: number,
): Promise<InboxItem[]> {
  const rows = await storage.read((db) =>
    filtered(db, filter).orderBy('received_at', 'desc').orderBy('event_id', 'desc').limit(limit),
  );
  return rows.map(itemOf);
}

/** The events whose id begins like that: two at most, for one is wanted. */
export async function findInboxItems(storage: Storage, idBegins: string): Promise<InboxItem[]> {
  // An id is a UUID; nothing else, and no wildcard, begins one.
  if (!/^[0-9A-Za-z-]+$/.test(idBegins)) return [];
  const rows = await storage.read((db) =>
    filtered(db, {}).where('event_id', 'like', `${idBegins}%`).orderBy('event_id').limit(2),
  );
  return rows.map(itemOf);
}

/** Every event of the filter, oldest first, a page at a time. */
export async function* inboxPages(
  storage: Storage,
  filter: InboxFilter,
): AsyncGenerator<InboxItem[]> {
  let after: { received_at: string; event_id: string } | undefined;
  for (;;) {
    const rows = await storage.read((db) => page(db, filter, after));
    if (rows.length > 0) yield rows.map(itemOf);
    after = rows[PAGE_ROWS - 1];
    if (after === undefined) return;
  }
}

function page(
  db: Selects,
  filter: InboxFilter,
  after: { received_at: string; event_id: string } | undefined,
) {
  const first = filtered(db, filter).orderBy('received_at').orderBy('event_id').limit(PAGE_ROWS);
  if (after === undefined) return first;
  return first.where((where) =>
    where.or([
      where('received_at', '>', after.received_at),
      where.and([
        where('received_at', '=', after.received_at),
        where('event_id', '>', after.event_id),
      ]),
    ]),
  );
}

function filtered(db: Selects, { since, form }: InboxFilter) {
  let query = db.selectFrom('inbox').select(['event_id', 'received_at', 'event']);
  if (since !== undefined) query = query.where('received_at', '>=', since.toISOString());
  if (form !== undefined) query = query.where('form', '=', form);
  return query;
}

function itemOf(row: { received_at: string; event: string }): InboxItem {
  return { receivedAt: row.received_at, event: JSON.parse(row.event) as Event };
}
