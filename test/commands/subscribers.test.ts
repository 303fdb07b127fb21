import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { listSubscribers } from '../../src/newsletter/listing.ts';
import { systemClock } from '../../src/platform/clock.ts';
import type { SubscriberRow } from '../../src/storage/schema.ts';
import { openSqlite } from '../../src/storage/sqlite/store.ts';
import { runService, temporaryFolder } from './run-service.ts';

let dataDir: string;
const subscribers = (...args: string[]) =>
  runService(['subscribers', ...args], {
    environment: {
      DATA_DIR: dataDir,
      BASE_URL: 'https://news.example',
      OPERATOR_TIME_ZONE: 'America/Los_Angeles',
    },
  });

const statuses = ['pending', 'confirmed', 'unsubscribed'] as const;
const row = (index: number): SubscriberRow => ({
  id: `0190a000-0000-7000-8000-${String(index).padStart(12, '0')}`,
  email: index === 0 ? '=cmd@example.com' : `reader${index}@example.com`,
  contractor: 'direct',
  status: statuses[index % 3] ?? 'pending',
  made_by: `s-${index}`,
  confirm_token: `secret-c-${index}`,
  leave_token: `secret-l-${index}`,
  created_at: '2026-09-01T12:00:00.000Z',
  consent_recorded_at: '2026-09-01T12:00:00.000Z',
  expires_at: index % 3 === 0 ? '2026-09-08T12:00:00.000Z' : null,
  confirmed_at: index % 3 === 0 ? null : '2026-09-01T13:00:00.000Z',
  unsubscribed_at: index % 3 === 2 ? '2026-09-02T12:00:00.000Z' : null,
});

beforeAll(async () => {
  dataDir = join(temporaryFolder(), 'data');
  mkdirSync(dataDir, { recursive: true });
  const storage = await openSqlite(join(dataDir, 'service.db'), systemClock);
  const rows = Array.from({ length: 700 }, (_, index) => row(index));
  await storage.write((tx) => tx.insertInto('subscribers').values(rows).execute());
  // Pages contain each subscriber once, for both queries.
  for (const search of [undefined, 'READER1']) {
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await listSubscribers(storage, { status: 'confirmed', search }, 7, cursor);
      found.push(...page.subscribers.map(({ email }) => email));
      cursor = page.next;
    } while (cursor !== undefined);
    const wanted = rows.filter(
      ({ status, email }) => status === 'confirmed' && (search === undefined || email.startsWith('reader1')),
    );
    expect(found.toSorted()).toEqual(wanted.map(({ email }) => email).toSorted());
  }
  await storage.close();
});

test('list filters by status and beginning of an address, newest first, and shows no token', async () => {
  const { stdout, stderr, status } = await subscribers('list', '--limit', '2');
  expect([status, stderr]).toEqual([0, 'Showing 2. Use --limit for more.\n']);
  expect(stdout.split('\n')[0]).toMatch(/^EMAIL +CONTRACTOR +STATUS +CREATED AT/);
  expect(stdout).toMatch(/reader699@.*\n.*reader698@/);
  const found = await subscribers('list', '--json', '--search', 'Reader69', '--status', 'pending');
  const emails = found.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).email);
  expect(emails).toEqual(
    ['reader690', 'reader693', 'reader696', 'reader699', 'reader69'].map((name) => `${name}@example.com`),
  );
  expect(stdout + found.stdout).not.toContain('secret');
});

test('export writes confirmed subscribers only, each with a link to unsubscribe', async () => {
  const { stdout } = await subscribers('export', '--format', 'csv');
  const [head, first, ...others] = stdout.trimEnd().split('\r\n');
  expect(head).toBe(
    '\uFEFFemail,contractor,status,created_at,consent_recorded_at,confirmed_at,unsubscribed_at,unsubscribe_url',
  );
  expect(first).toBe(
    'reader697@example.com,direct,confirmed,2026-09-01 05:00:00,2026-09-01 05:00:00,2026-09-01 06:00:00,,https://news.example/newsletter/leave/secret-l-697',
  );
  expect(others).toHaveLength(232);
  expect(others.every((line) => line.includes(',confirmed,'))).toBe(true);
  const { stdout: json } = await subscribers('export', '--json', '--limit', '3');
  expect(json.trim().split('\n')).toHaveLength(3);
  expect(JSON.parse(json.split('\n', 1)[0] ?? '')).toMatchObject({
    email: 'reader697@example.com',
    created_at: '2026-09-01T12:00:00.000Z',
    unsubscribe_url: 'https://news.example/newsletter/leave/secret-l-697',
  });
  expect(stdout + json).not.toContain('secret-c');
});

test('export writes every subscriber with --status all, and disarms formulas for spreadsheets', async () => {
  const { stdout } = await subscribers('export', '--format', 'csv', '--status', 'all');
  const lines = stdout.trimEnd().split('\r\n');
  expect(lines).toHaveLength(701);
  expect(lines.at(-1)).toMatch(/^'=cmd@example\.com,direct,pending,/);
  const { stdout: pending } = await subscribers('export', '--json', '--status', 'pending', '--search', 'reader69');
  expect(pending.trim().split('\n')).toHaveLength(5);
});
