/**
 * Subscribers, read for people: a page of them, or all in pages (beyond §6, §7). Each page walks an index, however
 * many there are: the newest first by their ids, which are in the order of time; what is looked for by its addresses.
 * Nobody is shown a token.
 */
import { parseEmail } from '../forms/fields.ts';
import type { Selects, Storage } from '../storage/database.ts';
import type { SubscriberRow, SubscriberStatus } from '../storage/subscriber-schema.ts';

export const subscriberStatuses: readonly SubscriberStatus[] = [
  'pending',
  'confirmed',
  'unsubscribed',
];

export type SubscriberFilter = {
  status?: SubscriberStatus | undefined;
  /** An address, or its beginning. */
  search?: string | undefined;
};

/** What an operator is shown of one. */
export type ListedSubscriber = Pick<
  SubscriberRow,
  | 'id'
  | 'email'
  | 'contractor'
  | 'status'
  | 'created_at'
  | 'consent_recorded_at'
  | 'confirmed_at'
  | 'unsubscribed_at'
>;

export type SubscriberPage = {
  subscribers: ListedSubscriber[];
  /** What the next page begins after: an id, and so fit for an address; undefined on the last one. */
  next: string | undefined;
};

const PAGE_ROWS = 500;

/** Sorts behind whatever follows the beginning of an address. */
const LAST_CHARACTER = '\u{10FFFF}';

/**
 * Up to `limit` of what is filtered: newest first, or by address where one is looked for. A cursor whose subscriber
 * was erased meanwhile ends a search, and nothing else. Throws `StorageUnavailable`.
 */
export async function listSubscribers(
  storage: Pick<Storage, 'read'>,
  filter: SubscriberFilter,
  limit: number,
  cursor?: string,
): Promise<SubscriberPage> {
  const rows = await storage.read((db) => ordered(db, filter, cursor).limit(limit + 1));
  const subscribers = rows.slice(0, limit);
  return { subscribers, next: rows.length > limit ? subscribers.at(-1)?.id : undefined };
}

/** All of what is filtered in the same order, a page at a time. */
export async function* subscriberPages(
  storage: Pick<Storage, 'read'>,
  filter: SubscriberFilter,
): AsyncGenerator<ListedSubscriber[]> {
  let cursor: string | undefined;
  do {
    const { subscribers, next } = await listSubscribers(storage, filter, PAGE_ROWS, cursor);
    if (subscribers.length > 0) yield subscribers;
    cursor = next;
  } while (cursor !== undefined);
}

function ordered(db: Selects, { status, search }: SubscriberFilter, cursor: string | undefined) {
  let query = db
    .selectFrom('subscribers')
    .select([
      'id',
      'email',
      'contractor',
      'status',
      'created_at',
      'consent_recorded_at',
      'confirmed_at',
      'unsubscribed_at',
    ]);
  if (status !== undefined) query = query.where('status', '=', status);
  if (search === undefined) {
    if (cursor !== undefined) query = query.where('id', '<', cursor);
    return query.orderBy('id', 'desc');
  }
  const begins = addressIn(search);
  query = query.where('email', '>=', begins).where('email', '<', begins + LAST_CHARACTER);
  if (cursor !== undefined) {
    const last = db.selectFrom('subscribers as last').select('last.email');
    query = query.where('email', '>', last.where('last.id', '=', cursor));
  }
  return query.orderBy('email');
}

/** As addresses are stored, or begin. */
function addressIn(typed: string): string {
  const text = typed.trim();
  return parseEmail(text) ?? text.normalize('NFC').toLowerCase();
}
