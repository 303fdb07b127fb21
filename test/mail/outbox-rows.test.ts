import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { prepareMessage } from '../../src/mail/messages.ts';
import { openOutbox } from '../../src/mail/outbox.ts';
import { openOutboxRows } from '../../src/mail/outbox-rows.ts';
import { openLog } from '../../src/platform/log.ts';
import type { Storage } from '../../src/storage/database.ts';
import { type TestClock, testClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { later, mailerThat, never, render, sent, withClock } from './outbox-parts.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const jane = 'jane@x.example';

describe.each(databases)('rows of the outbox, on %s', (_name, create) => {
  let database: TestDatabase;
  let clock: TestClock;
  let opened: Storage;
  let storage: Storage;
  beforeAll(async () => {
    database = await create();
  });
  beforeEach(async () => {
    clock = testClock();
    opened = await database.open(clock);
    storage = withClock(opened, clock);
    await storage.write((tx) => tx.deleteFrom('messages').execute());
  });
  afterEach(() => opened.close());
  afterAll(() => database.remove());

  const parts = () => ({
    clock,
    newId: () => crypto.randomUUID(),
    perMinute: 1_000,
    hostname: 'paint.example',
  });
  const stored = async () => {
    const rows = await storage.read((db) => db.selectFrom('messages').selectAll());
    return rows.map(({ status, attempts, message_id }) => ({ status, attempts, message_id }));
  };

  test('ignores a late mark for the previous message to the same mailbox', async () => {
    const rows = openOutboxRows(storage, parts());
    await storage.write(rows.messageTo(jane));
    const first = (await rows.claim()) ?? expect.fail();
    clock.advance(24 * HOUR);
    await storage.write(rows.messageTo(jane));
    const next = (await rows.claim()) ?? expect.fail();
    expect(next.message_id).not.toBe(first.message_id);
    const { message_id } = next;
    for (const status of ['sent', 'dead'] as const) {
      await rows.mark(first, status);
      expect(await stored()).toEqual([{ status: 'pending', attempts: 1, message_id }]);
    }
  });

  test('ignores a late `dead` from an earlier attempt, but accepts a late `sent` from that attempt', async () => {
    const rows = openOutboxRows(storage, parts());
    await storage.write(rows.messageTo(jane));
    const first = (await rows.claim()) ?? expect.fail();
    clock.advance(MINUTE);
    const second = (await rows.claim()) ?? expect.fail();
    const { message_id } = second;
    await rows.mark(first, 'dead');
    expect(await stored()).toEqual([{ status: 'pending', attempts: 2, message_id }]);
    // A message that the server accepted is sent, regardless of the attempt.
    await rows.mark(first, 'sent');
    expect(await stored()).toEqual([{ status: 'sent', attempts: 2, message_id }]);
  });

  test('does not change a message from `sent` to `dead`', async () => {
    const rows = openOutboxRows(storage, parts());
    await storage.write(rows.messageTo(jane));
    const row = (await rows.claim()) ?? expect.fail();
    await rows.mark(row, 'sent');
    await rows.mark(row, 'dead');
    expect(await stored()).toMatchObject([{ status: 'sent' }]);
  });

  test('gives a row to one of two workers that claim at once', async () => {
    const [one, two] = [openOutboxRows(storage, parts()), openOutboxRows(storage, parts())];
    await storage.write(one.messageTo(jane));
    const taken = await Promise.all([one.claim(), two.claim()]);
    expect(taken.filter((row) => row !== undefined)).toHaveLength(1);
  });

  test('counts every attempt towards the budget of its minute, whatever the outcome', async () => {
    const answers = [never, never, never, sent, later, never];
    const { mailer } = mailerThat(() => answers.shift() ?? never);
    const { newId } = parts();
    const log = openLog('silent');
    const outbox = openOutbox({ storage, clock, newId, mailer, render, perMinute: 3, log });
    for (let n = 0; n < 8; n += 1) await storage.write(outbox.messageTo(`p${n}@x.example`));
    const perMinute: number[] = [];
    for (let minute = 0; minute < 2; minute += 1) {
      perMinute.push(await outbox.work());
      clock.advance(MINUTE - 1);
      perMinute.push(await outbox.work());
      clock.advance(1);
    }
    expect(perMinute).toEqual([3, 0, 3, 0]);
  });

  test.each([
    ['refuses', 5 * SECOND, undefined],
    // A wall clock that is set back must not stop the outbox for long.
    ['allows', 5 * SECOND + 1, 1],
  ])('%s a claim in a full minute whose own time is %i ms older', async (_what, older, attempts) => {
    const two = { ...parts(), perMinute: 2 };
    const rows = openOutboxRows(storage, two);
    for (const address of [jane, 'jo@x.example', 'joan@x.example']) await storage.write(rows.messageTo(address));
    clock.advance(older);
    await rows.claim();
    await rows.claim();
    const stopped: TestClock = { ...clock, now: () => new Date(clock.now().getTime() - older) };
    const claim = await openOutboxRows(storage, { ...two, clock: stopped }).claim();
    expect(claim?.attempts).toBe(attempts);
  });

  test('retries a message after its back-off if a restart of the machine reset the monotonic clock', async () => {
    const before = openOutboxRows(storage, parts());
    await storage.write(before.messageTo(jane));
    await before.claim();
    // A restart resets the clock of leases, but not the wall clock.
    const uptime = clock.monotonic() - 5;
    const booted: TestClock = { ...clock, monotonic: () => clock.monotonic() - uptime };
    const reopened = await database.open(booted);
    const after = openOutboxRows(withClock(reopened, booted), { ...parts(), clock: booted });
    // The attempt counts as in progress until its back-off has passed.
    expect(await after.claim()).toBeUndefined();
    clock.advance(MINUTE);
    expect(await after.claim()).toMatchObject({ address: jane, attempts: 2 });
    await reopened.close();
  });

  test('keeps the limit of a mailbox for 24 hours after a late delivery, although old rows are deleted', async () => {
    const rows = openOutboxRows(storage, parts());
    await storage.write(rows.messageTo(jane));
    clock.advance(18 * HOUR);
    await rows.mark((await rows.claim()) ?? expect.fail(), 'sent');
    clock.advance(7 * HOUR);
    await rows.sweep();
    await storage.write(rows.messageTo(jane));
    expect(await rows.claim()).toBeUndefined();
    clock.advance(17 * HOUR);
    await rows.sweep();
    expect(await stored()).toEqual([]);
  });

  test('allows a new message 24 hours after the request for a message that failed permanently', async () => {
    const rows = openOutboxRows(storage, parts());
    await storage.write(rows.messageTo(jane));
    clock.advance(20 * HOUR);
    await rows.mark((await rows.claim()) ?? expect.fail(), 'dead');
    clock.advance(4 * HOUR - 1);
    await storage.write(rows.messageTo(jane));
    expect(await rows.claim()).toBeUndefined();
    clock.advance(1);
    await storage.write(rows.messageTo(jane));
    expect(await rows.claim()).toMatchObject({ key: jane, attempts: 1 });
  });

  test('stores a notice once, and returns it for sending after the confirmation messages', async () => {
    const rows = openOutboxRows(storage, parts());
    const add = prepareMessage(storage);
    const notice = { kind: 'notice' as const, key: 's-1', about: '{}', status: 'pending' as const };
    for (const message_id of ['<first>', '<second>']) {
      await storage.write(add({ ...notice, message_id, now: clock.now().toISOString() }));
    }
    clock.advance(MINUTE);
    await storage.write(rows.messageTo(jane));
    expect(await rows.claim()).toMatchObject({ kind: 'confirmation', key: jane });
    expect(await rows.claim()).toMatchObject({
      ...{ kind: 'notice', key: 's-1', about: '{}', address: null, message_id: '<first>' },
      ...{ priority: 2, attempts: 1, requested_at: '2026-09-01T12:00:00.000Z' },
    });
    expect(await rows.claim()).toBeUndefined();
  });

  test('removes only the row with the same kind, key, Message-ID and attempts, and no sent row', async () => {
    const rows = openOutboxRows(storage, parts());
    const add = prepareMessage(storage);
    const now = clock.now().toISOString();
    for (const kind of ['confirmation', 'notice'] as const) {
      for (const key of [jane, 'joan@x.example']) {
        // All rows share one Message-ID here, so that kind and key must distinguish them.
        const message = { kind, key, about: null, message_id: '<same>', now };
        await storage.write(add({ ...message, status: 'pending' }));
      }
    }
    const all = await storage.read((db) => db.selectFrom('messages').selectAll());
    const row = all.find(({ kind, key }) => kind === 'notice' && key === jane) ?? expect.fail();
    const left = async () => (await stored()).length;
    await rows.remove({ ...row, message_id: '<its-next>' });
    expect(await left()).toBe(4);
    // Another worker attempted the row after it was read. That attempt counts for the budget and the limit.
    await rows.remove({ ...row, attempts: row.attempts - 1 });
    expect(await left()).toBe(4);
    await rows.mark(row, 'sent');
    await rows.remove(row);
    expect(await left()).toBe(4);
    const other = { ...row, key: 'joan@x.example' };
    await rows.remove(other);
    expect(await left()).toBe(3);
  });

  test('deletes a notice that is still `new` after a day', async () => {
    const rows = openOutboxRows(storage, parts());
    const add = prepareMessage(storage);
    const kept = { about: null, now: clock.now().toISOString(), kind: 'notice' as const };
    for (const status of ['new', 'pending'] as const) {
      await storage.write(add({ ...kept, status, key: status, message_id: `<${status}>` }));
    }
    clock.advance(24 * HOUR - 1);
    await rows.sweep();
    expect(await stored()).toHaveLength(2);
    clock.advance(1);
    await rows.sweep();
    expect(await stored()).toMatchObject([{ status: 'pending' }]);
  });
});
