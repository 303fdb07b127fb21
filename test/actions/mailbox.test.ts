import { createHmac, randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openMailboxes } from '../../src/actions/mailbox.ts';
import { systemClock } from '../../src/clock.ts';
import type { Storage } from '../../src/storage/database.ts';
import { databases, type TestDatabase } from '../support/databases.ts';

const [oldest, old, present] = [7, 8, 9].map((byte) => Buffer.alloc(32, byte)) as [
  Buffer,
  Buffer,
  Buffer,
];
const ada = 'ada@example.com';

describe.each(databases)('beyond §4: the digest of a mailbox on %s', (_name, create) => {
  let database: TestDatabase;
  let storage: Storage;
  const warn = vi.fn();
  beforeEach(async () => {
    database = await create();
    storage = await database.open(systemClock);
    warn.mockClear();
  });
  afterEach(async () => {
    await storage.close();
    await database.remove();
  });
  /** As a start with these keys has them. */
  const open = (...keys: Buffer[]) =>
    openMailboxes({ storage, signingKeys: () => keys, randomSecret: randomBytes, log: { warn } });
  const kept = async (...keys: Buffer[]) => (await open(...keys).digestsOf(ada))[0];
  const rows = () => storage.read((db) => db.selectFrom('mailbox_keys').selectAll());

  test('is of the lower-cased address without its tag, and of no other', async () => {
    const mailboxes = open(present);
    const digests = await mailboxes.digestsOf(ada);
    expect(digests[0]).toMatch(/^[\da-f]{64}$/);
    for (const same of ['Ada@Example.com', 'ada+tag@example.com']) {
      expect(await mailboxes.digestsOf(same)).toEqual(digests);
    }
    expect(await mailboxes.digestsOf('bob@example.com')).not.toContain(digests[0]);
  });

  test('stays the same when a signing key goes that has stood beside the new one, again and again', async () => {
    const before = await kept(oldest);
    await open(old, oldest).prepare();
    expect(await kept(old)).toBe(before);
    await open(present, old).prepare();
    expect(await kept(present)).toBe(before);
    expect(warn).not.toHaveBeenCalled();
  });

  test('is another under keys that never stood beside the old one, and the log says so once', async () => {
    const before = await kept(oldest);
    const later = open(present);
    expect((await later.digestsOf(ada))[0]).not.toBe(before);
    await later.digestsOf(ada);
    expect(warn).toHaveBeenCalledTimes(1);
    // What was made under the old one is known again where that is in force once more.
    expect(await open(present, oldest).digestsOf(ada)).toContain(before);
  });

  test('is not to be had from the database alone: its key stands there in no readable form', async () => {
    const made: Buffer[] = [];
    const randomSecret = (bytes: number) => {
      made.push(randomBytes(bytes));
      return made.at(-1) ?? expect.fail();
    };
    const mailboxes = openMailboxes({
      storage,
      signingKeys: () => [present, old],
      randomSecret,
      log: { warn },
    });
    await mailboxes.prepare();
    const written = JSON.stringify(await rows());
    for (const secret of [made[0] ?? expect.fail(), present, old]) {
      for (const form of ['hex', 'base64', 'base64url'] as const) {
        expect(written).not.toContain(secret.toString(form).replace(/=+$/, ''));
      }
    }
    expect(await rows()).toHaveLength(2);
  });

  test('is one for instances that begin at the same moment', async () => {
    const digests = await Promise.all([kept(present, old), kept(present), kept(present, old)]);
    expect(new Set(digests).size).toBe(1);
  });

  test('is looked for under the digests of the version before as well', async () => {
    const ofBefore = [present, old].map((key) =>
      createHmac('sha256', key).update(`lead-intake mailbox v1\n${ada}`).digest('hex'),
    );
    expect((await open(present, old).digestsOf(ada)).slice(1)).toEqual(ofBefore);
  });

  test('is one, too, where a signing key is listed twice', async () => {
    const twice = open(present, Buffer.from(present));
    await twice.prepare();
    expect(await kept(present)).toBe((await twice.digestsOf(ada))[0]);
    expect(await rows()).toHaveLength(1);
  });

  test('needs no signing key until somebody asks, and a row that was changed is an error', async () => {
    await open().prepare();
    expect(await rows()).toEqual([]);
    await open(present).prepare();
    await storage.write((tx) => tx.updateTable('mailbox_keys').set({ wrapped: 'AAAA' }).execute());
    await expect(open(present).digestsOf(ada)).rejects.toThrow();
  });
});
