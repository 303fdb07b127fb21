/** The newsletter's subscribers (reference §9, §12.13), filtered by status or by the beginning of an address. */
import {
  countSubscribers,
  exportStatuses,
  exportSubscribers,
  type ListedSubscriber,
  listSubscribers,
  subscriberFormats,
  subscriberStatuses,
} from '../newsletter/listing.ts';
import { routes } from '../routes.ts';
import { COUNTED_ROWS } from '../submissions/read/list.ts';
import { CSV, chunksOf, recordedFile } from './downloads.ts';
import { PAGE_ROWS, withQuery } from './lists.ts';
import type { Answer, ConsoleParts, PageRequest } from './page.ts';
import type { Times } from './times.ts';

const SEARCH_LENGTH = 254;
const statusWords = { pending: 'Pending', confirmed: 'Confirmed', unsubscribed: 'Unsubscribed' } as const;

export async function subscribersPage(parts: ConsoleParts, request: PageRequest): Promise<Answer> {
  const { path, query, record, times } = request;
  const { status, search, given } = filtersOf(query, subscriberStatuses);
  const cursor = /^[\w-]{1,64}$/.exec(query.get('cursor') ?? '')?.[0];
  const { subscribers, next } = await listSubscribers(parts.storage, { status, search }, PAGE_ROWS, cursor);
  const total = totalWords(await countSubscribers(parts.reader));
  await record('saw_subscribers', { count: subscribers.length, filters: Object.keys(given) });

  const data = {
    given,
    total,
    isFiltered: Object.keys(given).length > 0,
    choices: [undefined, ...subscriberStatuses].map((each) => ({
      label: each === undefined ? 'All' : statusWords[each],
      isCurrent: each === status,
      href: withQuery(path, { ...(search && { q: search }), ...(each && { status: each }) }),
    })),
    rows: subscribers.map((subscriber) => rowOf(subscriber, times)),
    older: next && withQuery(path, { ...given, cursor: next }),
    newest: cursor && withQuery(path, given),
    exports: (status === undefined ? (['confirmed', 'all'] as const) : [status]).map((each) => ({
      label: `CSV of ${each}`,
      href: withQuery(routes.operatorSubscribersCsv.path, { ...given, status: each }),
    })),
  };
  return { kind: 'page', title: 'Subscribers', template: 'subscribers', data };
}

/** Returns the subscribers as a file, each with a link to unsubscribe. Without a status, only confirmed ones. */
export function subscribersCsv(parts: ConsoleParts, request: PageRequest): Promise<Answer> {
  const { given, ...filter } = filtersOf(request.query, exportStatuses);
  const { head, csv } = subscriberFormats(request.times.zone);
  const chunks = chunksOf(head, exportSubscribers(parts.reader, filter, parts.settings.baseUrl), csv);
  const file = { name: 'subscribers.csv', type: CSV };
  return recordedFile(parts, request, file, 'exported_subscribers', { filters: Object.keys(given) }, chunks);
}

/** Returns the filters of a query, and the valid ones as they were typed. */
function filtersOf<const Status extends string>(query: URLSearchParams, statuses: readonly Status[]) {
  const status = statuses.find((one) => one === query.get('status'));
  const typed = query.get('q')?.trim().slice(0, SEARCH_LENGTH) ?? '';
  // PostgreSQL has no text with the character NUL.
  const search = typed === '' || typed.includes('\0') ? undefined : typed;
  return { status, search, given: { ...(search && { q: search }), ...(status && { status }) } };
}

/** Returns the number of all subscribers, and of each status, such as `3 subscribers: 2 confirmed, 1 pending`. */
function totalWords(counts: Awaited<ReturnType<typeof countSubscribers>>): string {
  const words = (count: number) => (count > COUNTED_ROWS ? '10,000+' : count.toLocaleString('en'));
  const { confirmed, pending, unsubscribed } = counts;
  const all = confirmed + pending + unsubscribed;
  const parts = `${words(confirmed)} confirmed, ${words(pending)} pending, ${words(unsubscribed)} unsubscribed`;
  return `${words(all)} ${all === 1 ? 'subscriber' : 'subscribers'}: ${parts}`;
}

function rowOf(subscriber: ListedSubscriber, times: Times) {
  const { email, contractor, status, created_at, confirmed_at, unsubscribed_at } = subscriber;
  const since = unsubscribed_at ?? confirmed_at ?? created_at;
  // A subscription without a slug comes from the site's own form (reference §2.8).
  const site = contractor === 'direct' ? undefined : contractor;
  return { email, site, status, statusWord: statusWords[status], since: times.shown(since) };
}
