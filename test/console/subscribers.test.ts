import { expect, test } from 'vitest';
import type { ListSubscribers } from '../../src/console/subscriber-list.ts';
import { subscribersPage } from '../../src/console/subscribers.ts';
import type { ConsoleParts, Visit } from '../../src/console/visit.ts';

const subscriber = {
  id: 'id',
  email: '<b>ada</b>@example.com',
  contractor: 'vetted-painters',
  status: 'confirmed' as const,
  created_at: '2026-09-01T12:00:00.000Z',
  confirmed_at: '2026-09-01T13:00:00.000Z',
  unsubscribed_at: null,
};

/** Opens the page over a list of the test's own. */
async function open(search: string, listSubscribers?: ListSubscribers) {
  const recorded: unknown[] = [];
  const settings = { operatorTimeZone: 'Europe/Berlin' };
  const visit = {
    query: new URLSearchParams(search),
    record: async (...entry: unknown[]) => {
      recorded.push(entry);
      return '';
    },
  };
  const parts = { settings, listSubscribers } as unknown as ConsoleParts;
  const answer = await subscribersPage(parts, visit as unknown as Visit);
  return { main: answer.kind === 'page' ? answer.main : '', recorded };
}

test('subscribers are listed by status and the beginning of an address, a page at a time', async () => {
  const asked: unknown[] = [];
  const { main, recorded } = await open('q=ada&status=confirmed&cursor=after', async (...given) => {
    asked.push(given);
    return { subscribers: [subscriber], next: 'next' };
  });
  expect(asked).toEqual([[{ status: 'confirmed', search: 'ada' }, 50, 'after']]);
  expect(main).toContain('&lt;b&gt;ada&lt;/b&gt;@example.com');
  expect(main).toContain('1 Sept 2026, 15:00');
  expect(main).toContain('q=ada&amp;status=confirmed&amp;cursor=next">Older</a>');
  expect(recorded).toEqual([['saw_subscribers', { count: 1, filters: ['q', 'status'] }]]);
});

test('a status or a cursor that is none is ignored, and where nobody is kept nobody is shown', async () => {
  const { main } = await open('status=x&cursor=%00');
  expect(main).toContain('Nobody has subscribed yet.');
});
