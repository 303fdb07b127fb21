/** The newsletter's subscribers (beyond §6, §7): a page of them, by status, or by the beginning of an address. */
import {
  type ListedSubscriber,
  listSubscribers,
  subscriberStatuses,
} from '../newsletter/listing.ts';
import { routes } from '../routes.ts';
import { withQuery } from './filters.ts';
import { render } from './templates.ts';
import { type Times, timesIn } from './times.ts';
import type { Answer, ConsoleParts, Visit } from './visit.ts';

const PAGE_ROWS = 50;
const SEARCH_LENGTH = 254;
const statusWords = { pending: 'Pending', confirmed: 'Confirmed', unsubscribed: 'Left' } as const;

/** Shows addresses: that it was looked at is written down. */
export async function subscribersPage(parts: ConsoleParts, visit: Visit): Promise<Answer> {
  const { query, record } = visit;
  const status = subscriberStatuses.find((one) => one === query.get('status'));
  const typed = query.get('q')?.trim().slice(0, SEARCH_LENGTH) ?? '';
  // PostgreSQL knows no text with that character.
  const search = typed === '' || typed.includes('\0') ? undefined : typed;
  const cursor = /^[\w-]{1,64}$/.exec(query.get('cursor') ?? '')?.[0];
  const given = { ...(search && { q: search }), ...(status && { status }) };
  const filter = { status, search };
  const { subscribers, next } = await listSubscribers(parts.storage, filter, PAGE_ROWS, cursor);
  await record('saw_subscribers', { count: subscribers.length, filters: Object.keys(given) });

  const times = timesIn(parts.settings.operatorTimeZone);
  const path = routes.operatorSubscribers.path;
  const main = render('subscribers', {
    path,
    given,
    isFiltered: Object.keys(given).length > 0,
    choices: subscriberStatuses.map((value) => ({ value, label: statusWords[value] })),
    rows: subscribers.map((subscriber) => rowOf(subscriber, times)),
    older: next && withQuery(path, { ...given, cursor: next }),
    newest: cursor && withQuery(path, given),
    zone: times.zone,
  });
  return { kind: 'page', title: 'Subscribers', main };
}

function rowOf(subscriber: ListedSubscriber, times: Times) {
  const { email, contractor, status, created_at, confirmed_at, unsubscribed_at } = subscriber;
  const since = unsubscribed_at ?? confirmed_at ?? created_at;
  return { email, contractor, status, statusWord: statusWords[status], since: times.shown(since) };
}
