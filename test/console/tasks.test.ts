/** Tasks of the console's first page that depend on the machine and its files (reference §12.6). */
import { createHash, randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { timesIn } from '../../src/console/times.ts';
import { tasksFor } from '../../src/console/warnings.ts';
import { testClock } from '../support/clock.ts';
import { credentials, type Service } from '../support/service.ts';
import { keepRows, submissionRow } from '../support/submissions.ts';
import { startWithConsole } from './operator.ts';

const DAY_MS = 86_400_000;
const clock = testClock('2026-11-20T12:00:00.000Z');
const now = clock.now();
let service: Service;
beforeAll(async () => {
  service = await startWithConsole({ clock, environment: { REDELIVERY: 'off', UPSTREAM_URL: 'http://127.0.0.1:1/' } });
});
afterAll(() => service.close());
beforeEach(async () => {
  await service.parts.storage.write((tx) => tx.deleteFrom('submissions').execute());
  await useCredentials(JSON.stringify(credentials));
});

const tasks = (space = { freeBytes: 1e12, wholeBytes: 2e12 }) =>
  tasksFor(service.parts, { now, times: timesIn('Europe/Berlin'), space });

async function useCredentials(text: string): Promise<void> {
  writeFileSync(service.settings.credentialsFile ?? '', text);
  await service.parts.credentials.reload();
}

test('a machine without faults has no task', async () => {
  expect(await tasks()).toEqual([]);
});

test('a nearly full disk is a bad task with the free space', async () => {
  expect(await tasks({ freeBytes: 240e6, wholeBytes: 20.06e9 })).toEqual([
    { isBad: true, title: 'The disk is nearly full', text: '0.2 GB of 20.1 GB are free in DATA_DIR.' },
  ]);
});

test('an invalid credentials file is a task with a link to the agents', async () => {
  await useCredentials('{');
  expect(await tasks()).toEqual([
    {
      isBad: true,
      title: 'The credentials file of the agents is invalid',
      text: 'The service uses the last valid version of the file. The log has the reason.',
      href: '/operator/agents',
    },
  ]);
});

test('a client whose last credential expires within 14 days is a task', async () => {
  const [acme] = credentials.clients;
  const endIn = (days: number) => new Date(now.getTime() + days * DAY_MS).toISOString();
  const client = (name: string, ...ends: (string | null)[]) => ({
    ...acme,
    name,
    label: `The ${name}`,
    credentials: ends.map((expires_at, n) => ({ ...acme?.credentials[0], id: `c_${n}`, expires_at, sha256: digest() })),
  });
  const digest = () => createHash('sha256').update(randomUUID()).digest('hex');
  const clients = [client('late', endIn(14)), client('soon', endIn(13)), client('never', endIn(1), null)];
  await useCredentials(JSON.stringify({ clients: [...clients, client('next', endIn(-1), endIn(1), endIn(2))] }));
  const task = (name: string, day: number) => ({
    isBad: false,
    title: `The credentials of The ${name} expire soon`,
    text: `The last credential expires on ${day} ${day < 10 ? 'Dec' : 'Nov'} 2026, 13:00. Then the service refuses the agent.`,
    href: '/operator/agents',
  });
  expect(await tasks()).toEqual([task('next', 22), task('soon', 3)]);
});

test('failed messages are a bad task with a link to the messages', async () => {
  const { storage } = service.parts;
  const at = now.toISOString();
  const message = { kind: 'alert', address: null, about: null, priority: 2, requested_at: at } as const;
  const failed = { status: 'dead', attempts: 7, next_attempt_at: at } as const;
  await storage.write((tx) =>
    tx
      .insertInto('messages')
      .values(['1', '2'].map((key) => ({ ...message, ...failed, key, message_id: key })))
      .execute(),
  );
  expect(await tasks()).toEqual([
    {
      isBad: true,
      title: '2 messages could not be sent',
      text: 'The service makes no further attempt. The page shows the mail server’s replies, and resends messages.',
      href: '/operator/messages',
    },
  ]);
  await storage.write((tx) => tx.deleteFrom('messages').execute());
});

test('reports of the last 30 days are a task with the number of each agent', async () => {
  const ago = (ms: number) => new Date(now.getTime() - ms).toISOString();
  const report = (client: string, reported_at: string, seen: 0 | 1 = 0) =>
    ({ client, mailbox_digest: reported_at, reported_at, seen, sandbox: 0 }) as const;
  await service.parts.storage.write((tx) =>
    tx
      .insertInto('confirmation_reports')
      .values([
        report('acme', ago(30 * DAY_MS)),
        report('acme', ago(DAY_MS)),
        report('other', ago(2 * DAY_MS)),
        report('sender', ago(30 * DAY_MS + 1)),
        report('looker', ago(0), 1),
      ])
      .execute(),
  );
  expect(await tasks()).toEqual([
    {
      isBad: true,
      title: '3 people reported an unwanted request of an agent',
      text: 'Reports by agent: acme 2, other 1. The last report came on 19 Nov 2026, 13:00.',
      href: '/operator/confirmations',
      seenUntil: ago(DAY_MS),
    },
  ]);
  await service.parts.storage.write((tx) => tx.deleteFrom('confirmation_reports').execute());
});

const waiting = { receivedAt: '2026-11-20T11:00:00.000Z', status: 'waiting', next_attempt_ms: now.getTime() } as const;
const undelivered = { receivedAt: '2026-11-19T11:00:00.000Z', status: 'undelivered' } as const;

test.each<[string, Parameters<typeof submissionRow>[0][], { isBad: boolean; title: string; text: string }]>([
  [
    'a lead that waits',
    [{ ...waiting, attempts: [{ outcome: 'confirmed' }, { outcome: 'rateLimited' }] }],
    {
      isBad: false,
      title: '1 lead waits for the next attempt',
      text: 'The oldest came on 20 Nov 2026, 12:00: not confirmed: the receiver is busy.',
    },
  ],
  [
    'leads that wait, without an attempt',
    [waiting, waiting],
    {
      isBad: false,
      title: '2 leads wait for the next attempt',
      text: 'The oldest came on 20 Nov 2026, 12:00.',
    },
  ],
  [
    'a lead that did not arrive, with a reason',
    [{ ...undelivered, reason: 'rejected', attempts: [{ outcome: 'unknown' }] }],
    {
      isBad: true,
      title: '1 lead did not arrive',
      text: 'The oldest came on 19 Nov 2026, 12:00: the receiver rejected the lead.',
    },
  ],
])('%s is a task with the oldest', async (_what, given, task) => {
  await keepRows(service.parts.storage, given.map(submissionRow));
  const status = given[0]?.status;
  expect(await tasks()).toEqual([{ ...task, href: `/operator/leads?status=${status}&origin=browser` }]);
});

test('undelivered leads come before waiting leads', async () => {
  await keepRows(service.parts.storage, [waiting, undelivered].map(submissionRow));
  expect((await tasks()).map(({ title }) => title)).toEqual([
    '1 lead did not arrive',
    '1 lead waits for the next attempt',
  ]);
});
