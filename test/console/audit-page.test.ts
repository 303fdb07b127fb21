/** The text that an operator sees on the audit page (reference §12.12) and the connections page (reference §12.19). */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { requestScrub } from '../../src/storage/scrubbing.ts';
import { connectionRow, keepConnections } from '../oauth/rig.ts';
import { testClock } from '../support/clock.ts';
import { credentials, type Service } from '../support/service.ts';
import { type Operator, signIn, startWithConsole, useClients } from './operator.ts';
import { visibleText } from './visible-text.ts';

/** The time at which the tests open the pages, which is 14:00 in Berlin. */
const NOW = '2026-09-01T12:00:00.000Z';
const MINUTE_MS = 60_000;

const clock = testClock('2026-09-01T11:30:00.000Z');
let service: Service;
let operator: Operator;
beforeAll(async () => {
  service = await startWithConsole({ clock });
  const [acme, ...others] = credentials.clients;
  const clients = [{ ...acme, label: 'Acme Assistant' }, ...others];
  await useClients(service, clients);
  await signIn(service, 'Kim');
  clock.advance(20 * MINUTE_MS);
  operator = await signIn(service, 'Jo');
  clock.advance(10 * MINUTE_MS);
});
afterAll(() => service.close());
beforeEach(() =>
  service.parts.storage.write(async (tx) => {
    await tx.deleteFrom('operator_audit').execute();
  }),
);

/** Returns the title and the lines after the heading's paragraph. */
async function open(path: string) {
  const { text } = await operator.get(path);
  return { title: /<title>(.*?)<\/title>/.exec(text)?.[1], lines: visibleText(text).slice(2), text };
}

describe('GET /operator/audit', () => {
  const PAGE = '/operator/audit';
  const id = (n: number) => `0190a000-0000-7000-8000-00000000000${n}`;
  const end = [
    expect.stringMatching(/^“Sign out everywhere”, at the top of each page, ends all sessions under your name\./),
    'Times are in Europe/Berlin.',
  ];

  test('shows each entry with its operator, its subject and links to its leads', async () => {
    const entries: [what: string, about: object][] = [
      ['marked', { ids: [1, 2, 3, 4].map(id), progress: 'won' }],
      ['saw_lead', { ids: [id(5)] }],
      ['exported_leads', { count: 2, filters: ['q', 'status'] }],
      ['saw_messages', { count: 1, filters: [] }],
      ['saw_subscribers', { count: 0, filters: ['q'] }],
      ['rotated', { client: 'acme', credentials: ['c_4', 'c_5'] }],
      ['disconnected', { client: 'acme', host: 'claude.ai' }],
      ['of_a_later_version', {}],
    ];
    const rows = entries.map(([what, about], n) => {
      return { id: id(n), at: `2026-09-01T10:0${9 - n}:00.000Z`, name: 'Jo', what, about: JSON.stringify(about) };
    });
    await service.parts.storage.write((tx) => tx.insertInto('operator_audit').values(rows).execute());
    const { title, lines, text } = await open(PAGE);
    expect(title).toBe('Audit · Paint Match');
    expect(lines).toEqual([
      ...['Marked leads as won', `Jo ${id(1)} ${id(2)}`, '2 more', `${id(3)} ${id(4)}`, '1 Sept 2026, 12:09'],
      ...['Looked at a lead', `Jo ${id(5)}`, '1 Sept 2026, 12:08'],
      ...['Exported leads', 'Jo 2 rows filters: q, status', '1 Sept 2026, 12:07'],
      ...['Looked at the messages', 'Jo 1 row', '1 Sept 2026, 12:06'],
      ...['Looked at the subscribers', 'Jo 0 rows filters: q', '1 Sept 2026, 12:05'],
      ...['Rotated a credential', 'Jo acme c_4 c_5', '1 Sept 2026, 12:04'],
      ...['Disconnected a host', 'Jo acme claude.ai', '1 Sept 2026, 12:03'],
      ...['of_a_later_version', 'Jo', '1 Sept 2026, 12:02'],
      'Signed-in operators',
      'Jo (this browser) since 1 Sept 2026, 13:50, last seen 1 Sept 2026, 14:00',
      'Kim since 1 Sept 2026, 13:30, last seen 1 Sept 2026, 13:30',
      ...end,
    ]);
    const links = [...text.matchAll(/href="\/operator\/leads\/([^"]+)"><code>(.*?)</g)].map(([, ...link]) => link);
    expect(links).toEqual([1, 2, 3, 4, 5].map((n) => [id(n), id(n)]));
  });

  test.each([
    ['an hour ago', '2026-09-01T11:00:00.000Z', undefined],
    ['now', NOW, undefined],
    ['in the next night', '2026-09-02T01:00:00.000Z', '2 Sept 2026, 03:00'],
  ])('shows when the database file is rewritten if the rewrite is due %s', async (_when, dueAt, shown) => {
    const { write } = service.parts.storage;
    await write((tx) => requestScrub(tx, { id: randomUUID(), dueAt: new Date(dueAt) }));
    const { lines } = await open(PAGE);
    await write(async (tx) => void (await tx.deleteFrom('scrub_requests').execute()));
    const start = 'The database file contains traces of deleted rows until the service rewrites the file on';
    const notice = shown === undefined ? [] : [`${start} ${shown}.`];
    expect(lines.slice(0, lines.indexOf('Signed-in operators'))).toEqual([...notice, 'No entries.']);
  });
});

test('GET /operator/connections shows each connection with its client, its scopes and its last use', async () => {
  await keepConnections(
    service,
    connectionRow({ connected_at: '2026-09-01T10:00:00.000Z', last_used_at: '2026-09-01T11:00:00.000Z' }),
    connectionRow({ host: 'b.example', client: 'other', scope: 'lead:preview', last_used_at: null }),
  );
  const { title, lines } = await open('/operator/connections');
  expect(title).toBe('Connections · Paint Match');
  expect(lines).toEqual([
    ...['b.example', 'for other lead:preview connected 1 Sept 2026, 14:00', 'Disconnect b.example of other'],
    ...['claude.ai', 'for Acme Assistant acme lead:preview, lead:create connected 1 Sept 2026, 12:00'],
    ...['last used 1 Sept 2026, 13:00', 'Disconnect claude.ai of Acme Assistant'],
    'Times are in Europe/Berlin.',
  ]);
});
