/** What an instance of the version before keeps in `outbox` during a roll, on every store. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { countOutboxOf, eraseOutboxOf } from '../../src/mail/erasure.ts';
import { openOutbox } from '../../src/mail/outbox.ts';
import { openLog } from '../../src/operations/log.ts';
import type { Storage } from '../../src/storage/database.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { mailerThat, render, sent } from './outbox-parts.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const ago = (ms: number) => new Date(systemClock.now().getTime() - ms).toISOString();

describe.each(databases)('the outbox of the version before, on %s', (_name, create) => {
  let database: TestDatabase;
  let storage: Storage;
  beforeAll(async () => {
    database = await create();
  });
  beforeEach(async () => {
    storage = await database.open(systemClock);
    await storage.write(async (tx) => {
      await tx.deleteFrom('messages').execute();
      await tx.deleteFrom('outbox').execute();
    });
  });
  afterEach(() => storage.close());
  afterAll(() => database.remove());

  const old = (mailbox: string, more: object = {}) => ({
    mailbox,
    address: mailbox,
    message_id: `<${mailbox}>`,
    status: 'pending' as const,
    requested_at: ago(MINUTE),
    attempts: 0,
    next_attempt_at: ago(MINUTE),
    last_attempt_at: null,
    attempt_started_ms: null,
    ...more,
  });
  const write = (...rows: ReturnType<typeof old>[]) =>
    storage.write((tx) => tx.insertInto('outbox').values(rows).execute());
  const left = async () =>
    (await storage.read((db) => db.selectFrom('outbox').select('mailbox'))).map(
      (row) => row.mailbox,
    );
  const leaseClock = async () => {
    const [row] = await storage.read((db) => db.selectNoFrom(storage.dialect.leaseClock.as('now')));
    return Number(row?.now);
  };
  const outboxOf = (mailer: Parameters<typeof openOutbox>[0]['mailer']) =>
    openOutbox({
      ...{ storage, clock: systemClock, mailer, render, perMinute: 1_000 },
      log: openLog('silent'),
    });

  test('what waits there is sent under its own Message-ID, what is under way there is left', async () => {
    const now = await leaseClock();
    const attempted = { attempts: 1, last_attempt_at: ago(2 * MINUTE) };
    await write(
      old('waits@x.example'),
      old('again@x.example', { ...attempted, attempt_started_ms: now - 2 * MINUTE }),
      old('way@x.example', { ...attempted, attempt_started_ms: now - 50_000 }),
    );
    const { mailer, given } = mailerThat(() => sent);
    await outboxOf(mailer).work();
    expect(given.map(({ messageId }) => messageId).sort()).toEqual([
      '<again@x.example>',
      '<waits@x.example>',
    ]);
    expect(await left()).toEqual(['way@x.example']);
  });

  test('what is taken there just before it would be moved is left', async () => {
    await write(old('jane@x.example'));
    let isTaken = false;
    const reading: Storage['read'] = async (query) => {
      const rows = await storage.read(query);
      const [found] = rows as { mailbox?: string }[];
      if (!isTaken && found?.mailbox !== undefined) {
        isTaken = true;
        const attempt_started_ms = await leaseClock();
        await storage.write((tx) =>
          tx.updateTable('outbox').set({ attempts: 1, attempt_started_ms }).execute(),
        );
      }
      return rows;
    };
    const { mailer, given } = mailerThat(() => sent);
    const taking = { ...storage, read: reading };
    const outbox = openOutbox({
      ...{ storage: taking, clock: systemClock, mailer, render, perMinute: 1_000 },
      log: openLog('silent'),
    });
    await outbox.work();
    expect([isTaken, given, await left()]).toEqual([true, [], ['jane@x.example']]);
  });

  test('what was sent there caps its mailbox here', async () => {
    const sentThere = { status: 'sent', attempts: 1, last_attempt_at: ago(MINUTE) } as const;
    await write(old('jane@x.example', sentThere));
    const { mailer, given } = mailerThat(() => sent);
    const outbox = outboxOf(mailer);
    await outbox.work();
    await storage.write(outbox.messageTo('jane+again@x.example'));
    expect(await outbox.work()).toBe(0);
    expect(given).toEqual([]);
  });

  test('a mailbox that had its message here gets none for the row there', async () => {
    const { mailer, given } = mailerThat(() => sent);
    const outbox = outboxOf(mailer);
    await storage.write((tx) => tx.deleteFrom('outbox').execute());
    await storage.write(outbox.messageTo('jane@x.example'));
    await write(old('jane@x.example'), old('older@x.example', { requested_at: ago(30 * HOUR) }));
    await outbox.work();
    expect(given.map(({ address }) => address).sort()).toEqual([
      'jane@x.example',
      'older@x.example',
    ]);
    expect(await left()).toEqual([]);
  });

  test('a mailbox that was sent its message here gets none for a row there that is as young', async () => {
    const { mailer, given } = mailerThat(() => sent);
    const outbox = outboxOf(mailer);
    await storage.write(outbox.messageTo('jane@x.example'));
    await outbox.work();
    await write(old('jane@x.example'));
    // It looks into the other table with its first look.
    expect(await outboxOf(mailer).work()).toBe(0);
    expect([given.length, await left()]).toEqual([1, []]);
  });

  test('of several instances that start one moves a row', async () => {
    await write(...Array.from({ length: 250 }, (_, index) => old(`p${index}@x.example`)));
    const { mailer, given } = mailerThat(() => sent);
    const others = await Promise.all([database.open(systemClock), database.open(systemClock)]);
    const outboxes = [storage, ...others].map((each) =>
      openOutbox({
        ...{ storage: each, clock: systemClock, mailer, render, perMinute: 5 },
        log: openLog('silent'),
      }),
    );
    await Promise.all(outboxes.map((outbox) => outbox.work()));
    expect(new Set(given.map(({ address }) => address)).size).toBe(given.length);
    expect(await left()).toEqual([]);
    const [row] = await storage.read((db) =>
      db.selectFrom('messages').select((of) => of.fn.countAll().as('rows')),
    );
    expect(Number(row?.rows)).toBe(250);
    for (const other of others) await other.close();
  });

  test('erasure takes it out of both tables', async () => {
    const { mailer } = mailerThat(() => sent);
    await storage.write(outboxOf(mailer).messageTo('jane@x.example'));
    await write(old('jane@x.example'), old('joan@x.example'));
    expect(await countOutboxOf(storage, 'jane+x@x.example')).toBe(2);
    expect(await storage.write((tx) => eraseOutboxOf(tx, 'jane+x@x.example'))).toBe(2);
    expect(await countOutboxOf(storage, 'jane@x.example')).toBe(0);
    expect(await left()).toEqual(['joan@x.example']);
  });
});
