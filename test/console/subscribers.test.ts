import { expect, test } from 'vitest';
import type { ConsoleParts, PageRequest } from '../../src/console/page.ts';
import { subscribersPage } from '../../src/console/subscribers.ts';
import { render } from '../../src/console/templates.ts';
import { timesIn } from '../../src/console/times.ts';
import type { SubscriberRow } from '../../src/storage/schema.ts';
import { testClock } from '../support/clock.ts';
import { databases } from '../support/databases.ts';

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
  'lists subscribers by status and start of the address, without their links, on %s',
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
      const parts = { storage } as unknown as ConsoleParts;
      const answer = await subscribersPage(parts, request as unknown as PageRequest);
      return answer.kind === 'page' ? render(answer.template, answer.data) : '';
    };
    expect(await open('status=x&cursor=%00')).toContain('Nobody has subscribed yet.');

    const rows = [row(1), row(2, { status: 'pending', confirmed_at: null }), row(3)];
    await storage.write((tx) => tx.insertInto('subscribers').values(rows).execute());
    const all = await open('');
    expect(await open('q=ada%00')).toBe(all);
    for (const { email } of rows) expect(all).toContain(email);
    expect(all).toContain('&lt;b&gt;Painters');
    expect(all).toContain('1 Sept 2026, 15:00');
    expect(all).not.toMatch(/(?:confirm|leave)-\d/);
    const found = await open('q=ADA&status=confirmed');
    expect([1, 2, 3].map((n) => found.includes(`ada${n}@`))).toEqual([true, false, true]);
    expect(recorded.at(-1)).toEqual(['saw_subscribers', { count: 2, filters: ['q', 'status'] }]);
    await storage.close();
    await database.remove();
  },
);
