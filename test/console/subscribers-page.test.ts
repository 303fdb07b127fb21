/** The text that an operator sees on the subscribers page (reference §12.13), and the files of exports (§12.9). */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { SubscriberRow } from '../../src/storage/schema.ts';
import { testClock } from '../support/clock.ts';
import type { Service } from '../support/service.ts';
import { keepRows, submissionRow } from '../support/submissions.ts';
import { type Operator, signIn, startWithConsole } from './operator.ts';
import { visibleText } from './visible-text.ts';

const PAGE = '/operator/subscribers';

/** Returns the row of a confirmed subscriber. Later numbers are newer. */
const subscriberRow = (number: number, given: Partial<SubscriberRow> = {}): SubscriberRow => ({
  id: `01900000-0000-7000-8000-${String(number).padStart(12, '0')}`,
  email: `ada${number}@example.com`,
  contractor: 'direct',
  status: 'confirmed',
  made_by: 'anybody',
  confirm_token: `confirm-${number}`,
  leave_token: `leave-${number}`,
  created_at: '2026-08-01T12:00:00.000Z',
  consent_recorded_at: '2026-08-01T12:00:00.000Z',
  expires_at: null,
  confirmed_at: '2026-08-02T12:00:00.000Z',
  unsubscribed_at: null,
  ...given,
});

let service: Service;
let operator: Operator;
beforeAll(async () => {
  service = await startWithConsole({ clock: testClock() });
  operator = await signIn(service);
});
afterAll(() => service.close());
beforeEach(() => service.parts.storage.write(async (tx) => void (await tx.deleteFrom('subscribers').execute())));

const keep = (rows: SubscriberRow[]) =>
  service.parts.storage.write(async (tx) => {
    for (let from = 0; from < rows.length; from += 1_000) {
      await tx
        .insertInto('subscribers')
        .values(rows.slice(from, from + 1_000))
        .execute();
    }
  });
const several = (count: number, given?: Partial<SubscriberRow>) =>
  Array.from({ length: count }, (_, n) => subscriberRow(n + 1, given));

/** Opens the page. `links` are the links of the page by their text, and `chosen` is the text of the current status. */
async function open(query = '') {
  const { text } = await operator.get(PAGE + query);
  const main = text.slice(text.indexOf('<main'));
  const links = [...main.matchAll(/<a [^>]*href="([^"]*)"[^>]*>(.*?)<\/a>/g)].map(([, href = '', words = '']) => [
    words,
    href.replaceAll('&amp;', '&'),
  ]);
  return {
    title: /<title>(.*?)<\/title>/.exec(text)?.[1],
    lines: visibleText(text),
    links: Object.fromEntries(links) as Record<string, string>,
    chosen: /aria-current="true">(.*?)</.exec(main)?.[1],
    typed: / name="q"[^>]* value="([^"]*)"/.exec(main)?.[1],
  };
}

const statuses = ['All', 'Pending', 'Confirmed', 'Unsubscribed'];
const exportOf = (query: string) => `${PAGE}.csv?${query}`;

describe('GET /operator/subscribers', () => {
  test('shows each subscriber with the site, the status and the time of the last change', async () => {
    await keep([
      subscriberRow(1, { status: 'pending', confirmed_at: null, contractor: 'painters-1' }),
      subscriberRow(2),
      subscriberRow(3, { status: 'unsubscribed', unsubscribed_at: '2026-08-03T12:00:00.000Z' }),
      subscriberRow(4, { status: 'unsubscribed', unsubscribed_at: '2026-08-04T12:00:00.000Z', confirmed_at: null }),
    ]);
    const { title, lines, links, chosen } = await open();
    expect(title).toBe('Subscribers · Paint Match');
    expect(lines).toEqual([
      ...['Subscribers', 'Search', 'Search', ...statuses],
      '4 subscribers: 1 confirmed, 1 pending, 2 unsubscribed',
      ...['ada4@example.com', 'signed up on this site', '4 Aug 2026, 14:00', 'Unsubscribed'],
      ...['ada3@example.com', 'signed up on this site', '3 Aug 2026, 14:00', 'Unsubscribed'],
      ...['ada2@example.com', 'signed up on this site', '2 Aug 2026, 14:00', 'Confirmed'],
      ...['ada1@example.com', 'signed up through painters-1', '1 Aug 2026, 14:00', 'Pending'],
      expect.stringMatching(/^Times are in Europe\/Berlin\. .*: CSV of confirmed CSV of all$/),
    ]);
    expect(chosen).toBe('All');
    expect(links).toEqual({
      All: PAGE,
      Pending: `${PAGE}?status=pending`,
      Confirmed: `${PAGE}?status=confirmed`,
      Unsubscribed: `${PAGE}?status=unsubscribed`,
      'CSV of confirmed': exportOf('status=confirmed'),
      'CSV of all': exportOf('status=all'),
    });
  });

  test('keeps search and status in all links of a page', async () => {
    await keep(several(101));
    const given = 'q=ada&status=confirmed';
    const first = await open(`?${given}`);
    const cursor = new URLSearchParams(first.links.Older?.split('?')[1]).get('cursor');
    const second = await open(first.links.Older?.replace(PAGE, ''));
    const shared = {
      All: `${PAGE}?q=ada`,
      Pending: `${PAGE}?q=ada&status=pending`,
      Confirmed: `${PAGE}?${given}`,
      Unsubscribed: `${PAGE}?q=ada&status=unsubscribed`,
      'Show all': PAGE,
      'CSV of confirmed': exportOf(given),
    };
    expect([first.chosen, first.typed]).toEqual(['Confirmed', 'ada']);
    expect(first.links).toEqual({ ...shared, Older: `${PAGE}?${given}&cursor=${cursor}` });
    expect(second.links).toEqual({ ...shared, Newest: `${PAGE}?${given}`, Older: expect.any(String) });
    const third = await open(second.links.Older?.replace(PAGE, ''));
    expect(third.links).toEqual({ ...shared, Newest: `${PAGE}?${given}` });
    const emails = [first, second, third].flatMap(({ lines }) => lines.filter((line) => /@/.test(line)));
    expect(emails).toEqual(
      several(101)
        .map(({ email }) => email)
        .sort(),
    );
  });

  const ID = subscriberRow(2).id;

  test.each([
    ['the id of a subscriber', ID, ['ada1@example.com']],
    ['an id with a character before it', `!${ID}`, undefined],
    ['an id with a character behind it', `${ID}!`, undefined],
    ['a text of 65 characters', 'a'.repeat(65), undefined],
  ])('continues behind the cursor, or shows the newest if it is invalid: %s', async (_what, cursor, expected) => {
    await keep(several(3));
    const { lines, links } = await open(`?${new URLSearchParams({ cursor })}`);
    const all = ['ada3@example.com', 'ada2@example.com', 'ada1@example.com'];
    expect(lines.filter((line) => /@/.test(line))).toEqual(expected ?? all);
    expect(links.Newest).toBe(expected && PAGE);
  });

  test('searches by the first 254 characters of a text', async () => {
    expect((await open(`?q=${'a'.repeat(255)}`)).typed).toBe('a'.repeat(254));
  });

  test.each([
    ['', ['0 subscribers: 0 confirmed, 0 pending, 0 unsubscribed', 'Nobody has subscribed yet.']],
    [
      '?status=pending',
      ['0 subscribers: 0 confirmed, 0 pending, 0 unsubscribed', 'Show all', 'No subscriber matches.'],
    ],
  ])('says that there is no subscriber, with the query %j', async (query, expected) => {
    expect((await open(query)).lines.slice(7, -1)).toEqual(expected);
  });

  test('counts up to 10,000 subscribers of a status exactly', async () => {
    const total = async () => (await open()).lines[7];
    const [first, ...others] = several(10_001);
    await keep([first as SubscriberRow]);
    expect(await total()).toBe('1 subscriber: 1 confirmed, 0 pending, 0 unsubscribed');
    await keep(others.slice(0, -1));
    expect(await total()).toBe('10,000 subscribers: 10,000 confirmed, 0 pending, 0 unsubscribed');
    await keep(others.slice(-1));
    expect(await total()).toBe('10,000+ subscribers: 10,000+ confirmed, 0 pending, 0 unsubscribed');
  });
});

test.each([
  ['subscribers.csv', 'text/csv; charset=utf-8'],
  ['leads.csv', 'text/csv; charset=utf-8'],
  ['leads.jsonl', 'application/jsonl; charset=utf-8'],
])('GET /operator/%s is a download with this name and the type %s', async (name, type) => {
  await keepRows(service.parts.storage, [submissionRow()]);
  const { status, headers } = await operator.get(`/operator/${name}`);
  expect([status, headers.get('content-type')]).toEqual([200, type]);
  expect(headers.get('content-disposition')).toBe(`attachment; filename="${name}"`);
});
