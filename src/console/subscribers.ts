/** The newsletter's subscribers (reference §9, §12.13), filtered by status or by the beginning of an address. */
import { type ListedSubscriber, listSubscribers, subscriberStatuses } from '../newsletter/listing.ts';
import { PAGE_ROWS, withQuery } from './lists.ts';
import type { Answer, ConsoleParts, PageRequest } from './page.ts';
import type { Times } from './times.ts';

const SEARCH_LENGTH = 254;
const statusWords = { pending: 'Pending', confirmed: 'Confirmed', unsubscribed: 'Left' } as const;

export async function subscribersPage(parts: ConsoleParts, request: PageRequest): Promise<Answer> {
  const { path, query, record, times } = request;
  const status = subscriberStatuses.find((one) => one === query.get('status'));
  const typed = query.get('q')?.trim().slice(0, SEARCH_LENGTH) ?? '';
  // PostgreSQL has no text with the character NUL.
  const search = typed === '' || typed.includes('\0') ? undefined : typed;
  const cursor = /^[\w-]{1,64}$/.exec(query.get('cursor') ?? '')?.[0];
  const given = { ...(search && { q: search }), ...(status && { status }) };
  const { subscribers, next } = await listSubscribers(parts.storage, { status, search }, PAGE_ROWS, cursor);
  await record('saw_subscribers', { count: subscribers.length, filters: Object.keys(given) });

  const data = {
    given,
    isFiltered: Object.keys(given).length > 0,
    choices: subscriberStatuses.map((value) => ({ value, label: statusWords[value] })),
    rows: subscribers.map((subscriber) => rowOf(subscriber, times)),
    older: next && withQuery(path, { ...given, cursor: next }),
    newest: cursor && withQuery(path, given),
  };
  return { kind: 'page', title: 'Subscribers', template: 'subscribers', data };
}

function rowOf(subscriber: ListedSubscriber, times: Times) {
  const { email, contractor, status, created_at, confirmed_at, unsubscribed_at } = subscriber;
  const since = unsubscribed_at ?? confirmed_at ?? created_at;
  return { email, contractor, status, statusWord: statusWords[status], since: times.shown(since) };
}
