import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ConsoleParts, PageRequest } from '../../src/console/page.ts';
import { subscribersPage } from '../../src/console/subscribers.ts';
import { render } from '../../src/console/templates.ts';
import { timesIn } from '../../src/console/times.ts';
import type { SubscriberRow } from '../../src/storage/schema.ts';
import { testClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import type { Service } from '../support/service.ts';
import { type Operator, signIn, startWithConsole } from './operator.ts';

const row = (number: number, over: Partial<SubscriberRow> = {}): SubscriberRow => ({
  id: `01900000-0000-7000-8000-00000000000${number}`,
  email: `ada${number}@example.com`,
  contractor: '<b>Painters</b>',
  status: 'confirmed',
  made_by: 'anybody',
  confirm_token: `confirm-${number}`,
  leave_token: `leave-${number}`,
  created_at: '2026-09-01T12:00:00.000Z',
  consent_recorded_at: '2026-09-01T12:00:00.000Z',
  expires_at: null,
  confirmed_at: '2026-09-01T13:00:00.000Z',
  unsubscribed_at: null,
  ...over,
});

test.each(databases)(
  'GET /operator/subscribers filters by status and start of the address, without their links, on %s',
  async (_name, create) => {
    const database = await create();
    const storage = await database.open(testClock());
    const recorded: unknown[] = [];
    const open = async (search: string) => {
      const request = {
        path: '/operator/subscribers',
        times: timesIn('Europe/Berlin'),
        query: new URLSearchParams(search),
        record: async (...entry: unknown[]) => {
          recorded.push(entry);
          return '';
        },
      };
      const parts = { storage, reader: storage } as unknown as ConsoleParts;
      const answer = await subscribersPage(parts, request as unknown as PageRequest);
      return answer.kind === 'page' ? render(answer.template, answer.data) : '';
    };
    expect(await open('status=x&cursor=%00')).toContain('Nobody has subscribed yet.');

    const rows = [row(1), row(2, { status: 'pending', confirmed_at: null }), row(3, { contractor: 'direct' })];
    await storage.write((tx) => tx.insertInto('subscribers').values(rows).execute());
    const all = await open('');
    expect(await open('q=ada%00')).toBe(all);
    for (const { email } of rows) expect(all).toContain(email);
    expect(all).toContain('signed up through <bdi>&lt;b&gt;Painters');
    expect(all).toContain('<p class="total">3 subscribers: 2 confirmed, 1 pending, 0 unsubscribed</p>');
    expect(all).toContain('1 Sept 2026, 15:00');
    expect(all).not.toMatch(/(?:confirm|leave)-\d/);
    const found = await open('q=ADA&status=confirmed');
    expect([1, 2, 3].map((n) => found.includes(`ada${n}@`))).toEqual([true, false, true]);
    expect(found).toContain('signed up on this site');
    const exports = (page: string) =>
      [...page.matchAll(/href="(\S+)">(CSV of \w+)</g)].map(([, href, label]) => [href, label]);
    const path = '/operator/subscribers.csv';
    expect(exports(all)).toEqual([
      [`${path}?status=confirmed`, 'CSV of confirmed'],
      [`${path}?status=all`, 'CSV of all'],
    ]);
    expect(exports(found)).toEqual([[`${path}?q=ADA&amp;status=confirmed`, 'CSV of confirmed']]);
    expect(recorded.at(-1)).toEqual(['saw_subscribers', { count: 2, filters: ['q', 'status'] }]);
    await storage.close();
    await database.remove();
  },
);

describe.each(databases)('GET /operator/subscribers.csv on %s (reference §12.9)', (_name, create) => {
  const clock = testClock();
  let database: TestDatabase;
  let service: Service;
  let operator: Operator;
  beforeAll(async () => {
    database = await create();
    service = await startWithConsole({ clock, environment: { DATABASE_URL: database.url } });
    operator = await signIn(service);
    const rows = [
      row(1, { contractor: 'direct' }),
      row(2, { status: 'pending', confirmed_at: null, contractor: 'direct' }),
      row(3, { status: 'unsubscribed', unsubscribed_at: '2026-09-02T00:00:00.000Z', contractor: 'acme' }),
    ];
    await service.parts.storage.write((tx) => tx.insertInto('subscribers').values(rows).execute());
  });
  afterAll(async () => {
    await service.close();
    await database.remove();
  });
  const linesOf = async (query: string) => {
    const { status, text } = await operator.get(`/operator/subscribers.csv${query}`);
    expect(status).toBe(200);
    return text.split('\r\n').slice(0, -1);
  };

  test('writes confirmed subscribers only, with their link to unsubscribe and local times', async () => {
    const leave = `${service.url}/newsletter/leave/leave-1`;
    expect(await linesOf('')).toEqual([
      'email,contractor,status,created_at,consent_recorded_at,confirmed_at,unsubscribed_at,unsubscribe_url',
      `ada1@example.com,direct,confirmed,2026-09-01 14:00:00,2026-09-01 14:00:00,2026-09-01 15:00:00,,${leave}`,
    ]);
  });

  test.each([
    ['?status=all', ['ada3', 'ada2', 'ada1']],
    ['?status=pending', ['ada2']],
    ['?status=unsubscribed', ['ada3']],
    ['?status=confirmed', ['ada1']],
    ['?status=other', ['ada1']],
    ['?status=all&q=ADA2', ['ada2']],
    ['?q=ada2', []],
  ])('filters by the query %j, which matches %j', async (query, names) => {
    const [, ...records] = await linesOf(query);
    expect(records.map((record) => record.split('@')[0])).toEqual(names);
  });

  test('records the export in the audit, without an address', async () => {
    await linesOf('?status=all&q=ada');
    const rows = await service.parts.storage.read((db) =>
      db.selectFrom('operator_audit').selectAll().where('what', '=', 'exported_subscribers').orderBy('id'),
    );
    expect(JSON.parse(rows.at(-1)?.about ?? '')).toEqual({ count: 3, filters: ['q', 'status'] });
    expect((await operator.get('/operator/audit')).text).toContain('Exported subscribers');
  });

  test('returns 403 when the sign-in link is an hour old', async () => {
    clock.advance(60 * 60_000);
    expect((await operator.get('/operator/subscribers.csv')).status).toBe(403);
    expect((await operator.get('/operator/subscribers')).status).toBe(200);
  });
});
