import { createHmac, randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openMailboxes, unseenReports } from '../../src/confirmations/mailbox.ts';
import { systemClock } from '../../src/platform/clock.ts';
import type { Storage } from '../../src/storage/database.ts';
import { databases, type TestDatabase } from '../support/databases.ts';

const ada = 'ada@example.com';

describe.each(databases)('mailboxes on %s (reference §6.14)', (_name, create) => {
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
  /** Returns the mailboxes of an instance that starts now. */
  const open = () => openMailboxes({ storage, randomSecret: randomBytes });
  const keys = () => storage.read((db) => db.selectFrom('mailbox_key').selectAll());

  test('digestOf ignores case and tag of the address and differs for another address', async () => {
    const mailboxes = open();
    const digest = await mailboxes.digestOf(ada);
    expect(digest).toMatch(/^[\da-f]{64}$/);
    for (const same of ['Ada@Example.com', 'ada+tag@example.com']) {
      expect(await mailboxes.digestOf(same)).toBe(digest);
    }
    expect(await mailboxes.digestOf('bob@example.com')).not.toBe(digest);
  });

  test('digestOf returns the same digest after a restart, and another digest with another key', async () => {
    const digest = await open().digestOf(ada);
    expect(await open().digestOf(ada)).toBe(digest);
    await storage.write((tx) => tx.deleteFrom('mailbox_key').execute());
    expect(await open().digestOf(ada)).not.toBe(digest);
  });

  test.each([
    [false, 'lead-intake mailbox v1\n'],
    [true, 'lead-intake sandbox mailbox v1\n'],
  ])(
    'digestOf keeps its values in later versions, which find stored reports by them (sandbox: %s)',
    async (isSandbox, purpose) => {
      const secret = randomBytes(32);
      const row = { id: 1, secret: secret.toString('base64') };
      await storage.write((tx) => tx.insertInto('mailbox_key').values(row).execute());
      const mailboxes = openMailboxes({ storage, randomSecret: randomBytes, isSandbox });
      const digest = createHmac('sha256', secret).update(`${purpose}${ada}`).digest('hex');
      expect(await mailboxes.digestOf('Ada+tag@example.com')).toBe(digest);
      if (!isSandbox) expect(await open().digestOf(ada)).toBe(digest);
    },
  );

  test('unseenReports counts the reports about a client since a time, with the time of the last', async () => {
    const reports = [1, 2, 3].map((hour) => ({
      client: 'acme',
      mailbox_digest: `digest ${hour}`,
      reported_at: `2026-09-01T0${hour}:00:00.000Z`,
      seen: 0 as const,
      sandbox: 0 as const,
    }));
    await storage.write((tx) => tx.insertInto('confirmation_reports').values(reports).execute());
    expect(await unseenReports(storage, new Date('2026-09-01T02:00:00.000Z'))).toEqual([
      { client: 'acme', count: 2, lastAt: '2026-09-01T03:00:00.000Z' },
    ]);
  });

  test('digestOf makes one key if eight instances start at the same moment', async () => {
    const digests = await Promise.all(Array.from({ length: 8 }, () => open().digestOf(ada)));
    expect(new Set(digests).size).toBe(1);
    expect(await keys()).toHaveLength(1);
  });

  test('openMailboxes makes no key before the first digest', async () => {
    open();
    expect(await keys()).toEqual([]);
  });
});
