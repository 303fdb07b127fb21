/** What is said is read from the store when a message is sent: it takes time, or there is nothing to say any more. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type OutboxOptions, openOutbox } from '../../src/mail/outbox.ts';
import type { Storage } from '../../src/storage/database.ts';
import { openSqlite } from '../../src/storage/sqlite/store.ts';
import { type TestClock, testClock } from '../support/clock.ts';
import { later, mailerThat, render, sent } from './outbox-parts.ts';

let folder: string;
let clock: TestClock;
let storage: Storage;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'outbox-'));
  clock = testClock();
  storage = await openSqlite(join(folder, 'service.db'), clock);
});
afterEach(async () => {
  await storage.close();
  rmSync(folder, { recursive: true, force: true });
});

function outboxOf(options: Pick<OutboxOptions, 'mailer'> & Partial<OutboxOptions>) {
  const log = pino({ level: 'silent' });
  return openOutbox({ storage, clock, render, perMinute: 1_000, log, ...options });
}

test('a pause while it is written leaves it to its next attempt', async () => {
  const { mailer, given } = mailerThat(() => sent);
  let pauseMs = 5_001;
  const outbox = outboxOf({
    mailer,
    render: async ({ address }) => {
      clock.advance(pauseMs);
      return { subject: 'Subject', text: 'Text', address: address ?? '' };
    },
  });
  await storage.write(outbox.messageTo('jane@x.example'));
  await outbox.work();
  expect(given).toEqual([]);
  pauseMs = 0;
  clock.advance(60_000);
  await outbox.work();
  expect(given).toHaveLength(1);
});

test.each([
  ['goes, for nothing has arrived', 0, 1],
  ['stays as the cap of its mailbox once it was tried, for that may have arrived', 1, 0],
])('a message that has nothing to say any more %s', async (_what, attempts, messages) => {
  const { mailer, given } = mailerThat(() => later);
  let isOver = attempts === 0;
  const outbox = outboxOf({
    mailer,
    render: async ({ address }) =>
      isOver ? undefined : { subject: 'Subject', text: 'Text', address: address ?? '' },
  });
  await storage.write(outbox.messageTo('jane@x.example'));
  await outbox.work();
  expect(given).toHaveLength(attempts);
  isOver = true;
  clock.advance(60_000);
  await outbox.work();
  await storage.write(outbox.messageTo('jane+again@x.example'));
  expect((await outbox.depth()).pending).toBe(messages);
});
