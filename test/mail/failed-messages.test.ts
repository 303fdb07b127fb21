import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { countMessages, latestFailed, resendFailed } from '../../src/mail/failed-messages.ts';
import { openOutbox } from '../../src/mail/outbox.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { openLog } from '../../src/platform/log.ts';
import type { Storage } from '../../src/storage/database.ts';
import type { MessageRow } from '../../src/storage/operation-schema.ts';
import { testClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { mailerThat, never, render, sent, withClock } from './outbox-parts.ts';

test.each(databases)(
  'resendFailed queues a permanently failed message once more under its Message-ID, on %s',
  async (_name, create) => {
    const clock = testClock();
    const database = await create();
    const storage = withClock(await database.open(clock), clock);
    let answer = never;
    const { mailer, given } = mailerThat(() => answer);
    const log = openLog('silent');
    const outbox = openOutbox({ storage, clock, mailer, render, perMinute: 10, log });
    await storage.write(outbox.messageTo('ada@example.com'));
    await outbox.work();
    expect((await countMessages(storage, 'dead')).count).toBe(1);
    const [dead] = await latestFailed(storage, 10);
    if (dead === undefined) return expect.fail();
    expect(dead).toMatchObject({ kind: 'confirmation', address: 'ada@example.com', attempts: 1 });

    const none = { kind: 'notice', key: 'a\0b' };
    expect(await storage.write((tx) => resendFailed(tx, none, clock.now()))).toBe('unknown');
    const resend = () => storage.write((tx) => resendFailed(tx, dead, clock.now()));
    answer = sent;
    expect(await resend()).toBe('resent');
    expect(await resend()).toBe('underWay');
    expect(await countMessages(storage, 'pending')).toEqual({ isMore: false, count: 1 });
    expect(await outbox.work()).toBe(1);
    expect(given.map(({ messageId }) => messageId)).toEqual([dead.message_id, dead.message_id]);
    expect(await resend()).toBe('unknown');
    expect(await latestFailed(storage, 10)).toEqual([]);
    await outbox.close();
    await storage.close();
    await database.remove();
  },
);

/** Returns `count` failed messages of one moment. */
const failed = (count: number): MessageRow[] =>
  Array.from({ length: count }, (_, n) => ({
    ...{ kind: 'confirmation', key: `key-${n}`, address: `reader-${n}@example.com`, about: null, sealed_secret: null },
    ...{ priority: 1, message_id: `<${n}@paint.example>`, status: 'dead', requested_at: '2026-11-29T10:00:00.000Z' },
    ...{ attempts: 7, next_attempt_at: '2026-11-29T10:00:00.000Z', last_attempt_at: '2026-11-29T10:00:00.000Z' },
    ...{ attempt_started_ms: null, reply: null },
  }));

describe.each(databases)('failed messages on %s', (_name, create) => {
  let database: TestDatabase;
  let storage: Storage;
  beforeEach(async () => {
    database = await create();
    storage = await database.open(systemClock);
  });
  afterEach(async () => {
    await storage.close();
    await database.remove();
  });
  const insert = (rows: MessageRow[]) => storage.write((tx) => tx.insertInto('messages').values(rows).execute());

  test('resendFailed leaves other messages as they are, and finds no message without a row', async () => {
    await insert(failed(2));
    const resend = (key: string) =>
      storage.write((tx) => resendFailed(tx, { kind: 'confirmation', key }, systemClock.now()));
    expect(await resend('key-0')).toBe('resent');
    expect((await latestFailed(storage, 10)).map(({ key }) => key)).toEqual(['key-1']);
    expect(await resend('key-2')).toBe('unknown');
  });

  test('countMessages stops at 10,000', async () => {
    const rows = failed(10_001);
    while (rows.length > 1) await insert(rows.splice(0, 1_000));
    expect(await countMessages(storage, 'dead')).toEqual({ isMore: false, count: 10_000 });
    await insert(rows);
    expect(await countMessages(storage, 'dead')).toEqual({ isMore: true, count: 10_000 });
  });
});
