/**
 * Lists and exports subscribers for the operator, in pages (reference §13.5, §12.13). Each page reads from an index.
 * Without a search, the newest come first, by id, which grows with time. A search reads by address. A list never has a
 * token, and an export only the one of the link to unsubscribe.
 */
import { parseEmail } from '../forms/fields.ts';
import type { ReadOnly, Selects, Storage } from '../storage/database.ts';
import type { SubscriberRow, SubscriberStatus } from '../storage/schema.ts';
import { csvHead, csvRecord, csvTimes, type Formats } from '../submissions/read/export.ts';
import { COUNTED_ROWS } from '../submissions/read/list.ts';
import { unsubscribeUrl } from './subscribers.ts';

export const subscriberStatuses = ['pending', 'confirmed', 'unsubscribed'] as const satisfies SubscriberStatus[];

/** Values of `status` for an export. */
export const exportStatuses = ['all', ...subscriberStatuses] as const;

export type SubscriberFilter = {
  status?: SubscriberStatus | undefined;
  /** An address or its first characters. */
  search?: string | undefined;
};

const times = ['created_at', 'consent_recorded_at', 'confirmed_at', 'unsubscribed_at'] as const;

/** Columns that the operator sees. */
export const shownColumns = ['email', 'contractor', 'status', ...times] as const;

const columns = ['id', ...shownColumns] as const;

export type ListedSubscriber = Pick<SubscriberRow, (typeof columns)[number]>;

/** A subscriber of an export. The link needs no sign-in, so lists don't have it. */
export type ExportedSubscriber = ListedSubscriber & { unsubscribe_url: string };

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

/**
 * Yields all matching subscribers in the order of `listSubscribers`, page by page. Without a status, yields only
 * confirmed ones, because nobody else may get a newsletter.
 */
export async function* exportSubscribers(
  storage: Pick<Storage, 'read'>,
  {
    status = 'confirmed',
    search,
  }: { status?: (typeof exportStatuses)[number] | undefined; search?: string | undefined },
  baseUrl: string,
): AsyncGenerator<ExportedSubscriber[]> {
  const filter = { search, status: status === 'all' ? undefined : status };
  let cursor: string | undefined;
  do {
    const rows = await storage.read((db) => ordered(db, filter, cursor).select('leave_token').limit(PAGE_ROWS));
    yield rows.map(({ leave_token, ...row }) => ({ ...row, unsubscribe_url: unsubscribeUrl(baseUrl, leave_token) }));
    cursor = rows[PAGE_ROWS - 1]?.id;
  } while (cursor !== undefined);
}

/** Returns the formats of an export. The times of the CSV are in a time zone. */
export function subscriberFormats(timeZone: string): Formats<ExportedSubscriber> {
  const timeOf = csvTimes(timeZone);
  const names = [...shownColumns, 'unsubscribe_url'] as const;
  return {
    head: csvHead(names),
    csv: ({ email, contractor, status, unsubscribe_url, ...row }) =>
      csvRecord([email, contractor, status, ...times.map((name) => timeOf(row[name])), unsubscribe_url]),
    jsonl: (row) => `${JSON.stringify(Object.fromEntries(names.map((name) => [name, row[name]])))}\n`,
  };
}

/** Counts the subscribers of each status, up to `COUNTED_ROWS` + 1, in an index. */
export async function countSubscribers(reader: ReadOnly): Promise<Record<SubscriberStatus, number>> {
  const { constant } = reader.dialect;
  const counted = await reader.read((db) =>
    subscriberStatuses
      .map((status) => {
        const some = db.selectFrom('subscribers').select('id').where('status', '=', constant(status));
        return db
          .selectFrom(some.limit(constant(COUNTED_ROWS + 1)).as('some'))
          .select((row) => [constant(status).as('status'), row.fn.countAll<number>().as('rows')]);
      })
      .reduce((all, one) => all.unionAll(one)),
  );
  const numberOf = (status: SubscriberStatus) => Number(counted.find((row) => row.status === status)?.rows ?? 0);
  return {
    pending: numberOf('pending'),
    confirmed: numberOf('confirmed'),
    unsubscribed: numberOf('unsubscribed'),
  };
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
