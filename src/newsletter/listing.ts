/**
 * Lists subscribers for the operator, in pages (reference §13.5, §12.13). Each page reads from an index. Without a
 * search, the newest come first, by id, which grows with time. A search reads by address. Tokens are never shown.
 */
import { parseEmail } from '../forms/fields.ts';
import type { Selects, Storage } from '../storage/database.ts';
import type { SubscriberRow, SubscriberStatus } from '../storage/schema.ts';

export const subscriberStatuses: readonly SubscriberStatus[] = ['pending', 'confirmed', 'unsubscribed'];

export type SubscriberFilter = {
  status?: SubscriberStatus | undefined;
  /** An address or its first characters. */
  search?: string | undefined;
};

const columns = [
  'id',
  'email',
  'contractor',
  'status',
  'created_at',
  'consent_recorded_at',
  'confirmed_at',
  'unsubscribed_at',
] as const;

export type ListedSubscriber = Pick<SubscriberRow, (typeof columns)[number]>;

export type SubscriberPage = {
  subscribers: ListedSubscriber[];
  /** Id of the last subscriber, as the cursor for the next page. Undefined on the last page. */
  next: string | undefined;
};

const PAGE_ROWS = 500;

/** The character that sorts after every other character. */
const LAST_CHARACTER = '\u{10FFFF}';

/**
 * Returns up to `limit` matching subscribers: the newest first, or by address for a search. If the cursor's subscriber
 * is erased, the search ends. Throws `StorageUnavailable`.
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

/** Yields all matching subscribers in the order of `listSubscribers`, page by page. */
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

/** Returns the subscriber with this normalized address, or undefined. Throws `StorageUnavailable`. */
export async function subscriberOf(
  storage: Pick<Storage, 'read'>,
  email: string,
): Promise<ListedSubscriber | undefined> {
  const [row] = await storage.read((db) => db.selectFrom('subscribers').select(columns).where('email', '=', email));
  return row;
}

function ordered(db: Selects, { status, search }: SubscriberFilter, cursor: string | undefined) {
  let query = db.selectFrom('subscribers').select(columns);
  if (status !== undefined) query = query.where('status', '=', status);
  if (search === undefined) {
    if (cursor !== undefined) query = query.where('id', '<', cursor);
    return query.orderBy('id', 'desc');
  }
  const text = search.trim();
  const prefix = parseEmail(text) ?? text.normalize('NFC').toLowerCase();
  query = query.where('email', '>=', prefix).where('email', '<', prefix + LAST_CHARACTER);
  if (cursor !== undefined) {
    const last = db.selectFrom('subscribers as last').select('last.email');
    query = query.where('email', '>', last.where('last.id', '=', cursor));
  }
  return query.orderBy('email');
}
