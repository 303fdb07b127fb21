/** Messages are rendered when they are sent. Rendering takes time, or finds that the message has no purpose any more. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type OutboxOptions, openOutbox } from '../../src/mail/outbox.ts';
import { openLog } from '../../src/platform/log.ts';
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
  const log = openLog('silent');
  return openOutbox({ storage, clock, render, perMinute: 1_000, log, ...options });
}

test('sends a message only at its next attempt if rendering took more than 5 s', async () => {
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
  ['removes a message if rendering finds no content and there was no attempt', 0, 1],
  ['keeps a message if rendering finds no content after an attempt, so that the limit of the mailbox stays', 1, 0],
])('%s', async (_what, attempts, messages) => {
  const { mailer, given } = mailerThat(() => later);
  let isOver = attempts === 0;
  const outbox = outboxOf({
    mailer,
    render: async ({ address }) => (isOver ? undefined : { subject: 'Subject', text: 'Text', address: address ?? '' }),
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
