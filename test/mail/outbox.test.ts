/** The outbox of confirmation messages on every store (reference §11.1). */
import { setImmediate } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Mailer, SendResult } from '../../src/mail/mail.ts';
import { openOutbox } from '../../src/mail/outbox.ts';
import { openLog } from '../../src/platform/log.ts';
import { type Storage, StorageUnavailable } from '../../src/storage/database.ts';
import { type TestClock, testClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { later, mailerThat, never, render, sent, withClock } from './outbox-parts.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

let clock: TestClock;
let database: TestDatabase;
let storage: Storage;
const open: Storage[] = [];

const openStorage = async () => {
  const opened = await database.open(clock);
  open.push(opened);
  return withClock(opened, clock);
};
/** Gives every test of a describe block an empty outbox on this kind of database. */
function eachOn(create: () => Promise<TestDatabase>): void {
  beforeAll(async () => {
    database = await create();
  });
  beforeEach(async () => {
    clock = testClock();
    storage = await openStorage();
    await storage.write((tx) => tx.deleteFrom('messages').execute());
  });
  afterEach(async () => {
    for (const opened of open.splice(0)) await opened.close();
  });
  afterAll(() => database.remove());
}

const outboxOf = (mailer: Mailer, perMinute = 1_000, on = storage) =>
  openOutbox({
    storage: on,
    clock,
    mailer,
    render,
    perMinute,
    log: openLog('silent'),
    hostname: 'paint.example',
  });

/** Returns the store with randomly delayed answers, so that the statements of workers interleave. */
function outOfStep(of: Storage): Storage {
  const late = async <T>(answer: Promise<T>) => {
    const result = await answer;
    for (let turns = Math.random() * 6; turns > 1; turns -= 1) await setImmediate();
    return result;
  };
  return {
    ...of,
    read: (query) => late(of.read(query)),
    write: (change) => late(of.write(change)),
  };
}

const rows = () => storage.read((db) => db.selectFrom('messages').selectAll());

describe.each(databases)('one message per mailbox in 24 hours, on %s', (_name, create) => {
  eachOn(create);

  test('sends one message in 24 hours for several requests with different plus-tags', async () => {
    const { mailer, given } = mailerThat(() => sent);
    const outbox = outboxOf(mailer);
    await Promise.all(
      ['jane@x.example', 'jane+a@x.example', 'jane+a+b@x.example', 'jane@x.example', 'jane+@x.example'].map((address) =>
        storage.write(outbox.messageTo(address)),
      ),
    );
    await storage.write(outbox.messageTo('joan@x.example'));
    expect(await outbox.work()).toBe(2);
    await storage.write(outbox.messageTo('jane@x.example'));
    clock.advance(24 * HOUR - 1);
    await storage.write(outbox.messageTo('jane+again@x.example'));
    expect(await outbox.work()).toBe(0);
    expect(given.map(({ address }) => address).sort()).toEqual(['jane@x.example', 'joan@x.example']);
  });

  test('sends again after 24 hours, to the latest address, with a new Message-ID', async () => {
    const { mailer, given } = mailerThat(() => sent);
    const outbox = outboxOf(mailer);
    await storage.write(outbox.messageTo('jane@x.example'));
    await outbox.work();
    clock.advance(24 * HOUR);
    await storage.write(outbox.messageTo('jane+b@x.example'));
    expect(await outbox.work()).toBe(1);
    expect(given.map(({ address }) => address)).toEqual(['jane@x.example', 'jane+b@x.example']);
    expect(new Set(given.map(({ messageId }) => messageId)).size).toBe(2);
    for (const { messageId } of given) expect(messageId).toMatch(/^<[0-9a-f-]{36}@paint\.example>$/);
  });

  test('counts the 24 hours from the delivery if a retry delivered the message', async () => {
    let answer: SendResult = later as SendResult;
    const { mailer, given } = mailerThat(() => answer);
    const outbox = outboxOf(mailer);
    await storage.write(outbox.messageTo('jane@x.example'));
    await outbox.work();
    clock.advance(10 * HOUR);
    answer = sent;
    await outbox.work();
    clock.advance(14 * HOUR);
    await storage.write(outbox.messageTo('jane@x.example'));
    await outbox.work();
    expect(given).toHaveLength(2);
    clock.advance(10 * HOUR);
    await storage.write(outbox.messageTo('jane@x.example'));
    await outbox.work();
    expect(given).toHaveLength(3);
  });

  test('deletes a sent row after 24 hours, and keeps a pending row', async () => {
    const { mailer } = mailerThat(({ address }) => (address.startsWith('p') ? later : sent));
    const outbox = outboxOf(mailer);
    for (const address of ['sent@x.example', 'pending@x.example']) await storage.write(outbox.messageTo(address));
    await outbox.work();
    clock.advance(24 * HOUR - 1);
    await outbox.work();
    expect(await rows()).toHaveLength(2);
    clock.advance(HOUR);
    await outbox.work();
    expect((await rows()).map(({ key }) => key)).toEqual(['pending@x.example']);
  });
});

describe.each(databases)('attempts, on %s', (_name, create) => {
  eachOn(create);

  test('retries a deferred message after 1 min, 5 min, 30 min, 2 h, 6 h, 12 h, then marks it as permanently failed', async () => {
    const { mailer, given } = mailerThat(() => later);
    const outbox = outboxOf(mailer);
    await storage.write(outbox.messageTo('jane@x.example'));
    await outbox.work();
    for (const pause of [MINUTE, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 6 * HOUR, 12 * HOUR]) {
      expect(await outbox.depth()).toEqual({ pending: 1, dead: 0 });
      clock.advance(pause - 1);
      expect(await outbox.work()).toBe(0);
      clock.advance(1);
      expect(await outbox.work()).toBe(1);
    }
    expect(await outbox.depth()).toEqual({ pending: 0, dead: 1 });
    clock.advance(15 * HOUR);
    expect(await outbox.work()).toBe(0);
    expect(given).toHaveLength(7);
    expect(new Set(given.map(({ messageId }) => messageId)).size).toBe(1);
  });

  test('marks a refused message as permanently failed at once, and accepts a new request after 24 hours', async () => {
    const { mailer, given } = mailerThat(() => never);
    const outbox = outboxOf(mailer);
    await storage.write(outbox.messageTo('jane@x.example'));
    await outbox.work();
    expect(await outbox.depth()).toEqual({ pending: 0, dead: 1 });
    clock.advance(23 * HOUR);
    await storage.write(outbox.messageTo('jane@x.example'));
    expect(await outbox.work()).toBe(0);
    clock.advance(HOUR);
    await storage.write(outbox.messageTo('jane@x.example'));
    expect(await outbox.work()).toBe(1);
    expect(given).toHaveLength(2);
  });

  test('marks a message as permanently failed if its send always throws, and sends all other messages', async () => {
    const { mailer, given } = mailerThat(({ address }) => {
      if (address.startsWith('poison')) throw new TypeError('no');
      return sent;
    });
    const outbox = outboxOf(mailer);
    for (const address of ['poison@x.example', 'a@x.example', 'b@x.example'])
      await storage.write(outbox.messageTo(address));
    for (let hour = 0; hour < 24; hour += 1) {
      await outbox.work();
      clock.advance(HOUR);
    }
    expect(given.filter(({ address }) => !address.startsWith('poison'))).toHaveLength(2);
    expect(given).toHaveLength(2 + 7);
    expect(await outbox.depth()).toEqual({ pending: 0, dead: 1 });
  });

  test('makes no more attempts in 60 seconds than the budget, including retries and restarts', async () => {
    let answer: SendResult = later as SendResult;
    const { mailer } = mailerThat(() => answer);
    const outbox = outboxOf(mailer, 3);
    for (let i = 0; i < 8; i += 1) await storage.write(outbox.messageTo(`p${i}@x.example`));
    expect(await outbox.work()).toBe(3);
    clock.advance(30_000);
    expect(await outboxOf(mailer, 3, await openStorage()).work()).toBe(0);
    clock.advance(29_999);
    expect(await outbox.work()).toBe(0);
    answer = sent;
    const perMinute: number[] = [];
    clock.advance(1);
    for (let minute = 0; minute < 4; minute += 1) {
      perMinute.push(await outbox.work());
      clock.advance(MINUTE);
    }
    expect(perMinute).toEqual([3, 3, 2, 0]);
  });
});

describe.each(databases)('crashes and several workers, on %s', (_name, create) => {
  eachOn(create);

  test('repeats a message under the same Message-ID if the process dies after the claim', async () => {
    const dying = mailerThat(() => new Promise<SendResult>(() => {}));
    const outbox = outboxOf(dying.mailer);
    await storage.write(outbox.messageTo('jane@x.example'));
    void outbox.work();
    await expect.poll(() => dying.given.length).toBe(1);
    const { mailer, given } = mailerThat(() => sent);
    const reopened = outboxOf(mailer, 1_000, await openStorage());
    expect(await reopened.work()).toBe(0);
    clock.advance(MINUTE);
    expect(await reopened.work()).toBe(1);
    expect(given).toEqual(dying.given);
    expect(await rows()).toMatchObject([{ status: 'sent', attempts: 2 }]);
  });

  test('marks a message as permanently failed if the process died in its last attempt', async () => {
    const { mailer, given } = mailerThat(() => later);
    const outbox = outboxOf(mailer);
    await storage.write(outbox.messageTo('jane@x.example'));
    await storage.write((tx) => tx.updateTable('messages').set({ attempts: 7 }).execute());
    expect(await outbox.work()).toBe(0);
    expect(given).toEqual([]);
    expect(await outbox.depth()).toEqual({ pending: 0, dead: 1 });
  });

  test('writes a mark that the store refused before it sends another message', async () => {
    let away = false;
    const { mailer, given } = mailerThat(() => {
      away = given.length === 1;
      return sent;
    });
    const refusing: Storage = {
      ...storage,
      write: async (change) => {
        if (away) throw new StorageUnavailable('away');
        return await storage.write(change);
      },
    };
    const outbox = outboxOf(mailer, 1_000, refusing);
    await storage.write(outbox.messageTo('jane@x.example'));
    await outbox.work();
    expect((await rows()).map(({ status }) => status)).toEqual(['pending']);
    clock.advance(MINUTE);
    // The row is due again, but the mark must be written first, and that fails.
    await expect(outbox.work()).rejects.toThrow('away');
    away = false;
    await storage.write(outbox.messageTo('joan@x.example'));
    expect(await outbox.work()).toBe(1);
    expect(given.map(({ address }) => address)).toEqual(['jane@x.example', 'joan@x.example']);
    expect((await rows()).map(({ status }) => status)).toEqual(['sent', 'sent']);
  });

  test('sends nothing after a pause of the process inside the claim if another worker claimed the message', async () => {
    const { mailer, given } = mailerThat(() => sent);
    const other = outboxOf(mailer, 1_000, await openStorage());
    let paused = false;
    const pausing: Storage = {
      ...storage,
      write: async (change) => {
        const result = await storage.write(change);
        const [row] = await rows();
        if (!paused && row?.attempts === 1) {
          // The claim is committed, but its answer arrives two minutes later.
          paused = true;
          clock.advance(2 * MINUTE);
          expect(await other.work()).toBe(1);
        }
        return result;
      },
    };
    const outbox = outboxOf(mailer, 1_000, pausing);
    await storage.write(outbox.messageTo('jane@x.example'));
    await outbox.work();
    expect([paused, given.length]).toEqual([true, 1]);
    expect(await rows()).toMatchObject([{ status: 'sent', attempts: 2 }]);
  });

  test('sends nothing after a pause of the process between the claim and the send', async () => {
    const { mailer, given } = mailerThat(() => sent);
    const paused = openOutbox({
      storage,
      clock: {
        ...clock,
        // Two minutes pass between any two reads of this clock.
        monotonic: () => {
          clock.advance(2 * MINUTE);
          return clock.monotonic();
        },
      },
      mailer,
      render,
      perMinute: 1,
      log: openLog('silent'),
    });
    await storage.write(paused.messageTo('jane@x.example'));
    await paused.work();
    expect(given).toEqual([]);
    expect((await rows())[0]?.status).not.toBe('sent');
  });

  test('sends no message twice when the wall clock jumps during a send', async () => {
    const answer = Promise.withResolvers<SendResult>();
    const { mailer, given } = mailerThat(() => answer.promise);
    const [one, two] = [outboxOf(mailer), outboxOf(mailer, 1_000, await openStorage())];
    await storage.write(one.messageTo('jane@x.example'));
    const working = one.work();
    await expect.poll(() => given.length).toBe(1);
    clock.step(72 * HOUR);
    expect(await two.work()).toBe(0);
    answer.resolve(sent);
    await working;
    expect([given.length, (await rows())[0]?.status]).toEqual([1, 'sent']);
  });

  test('three workers send no message twice, and no more messages a minute than the budget', async () => {
    const { mailer, given } = mailerThat(() => sent);
    const outboxes = await Promise.all([1, 2, 3].map(async () => outboxOf(mailer, 25, outOfStep(await openStorage()))));
    for (let i = 0; i < 40; i += 1) {
      const outbox = outboxes[i % 3] ?? expect.fail();
      await storage.write(outbox.messageTo(`p${i}@x.example`));
    }
    const attempts = await Promise.all(outboxes.map((outbox) => outbox.work()));
    expect(attempts.reduce((sum, n) => sum + n)).toBe(25);
    clock.advance(MINUTE);
    await Promise.all(outboxes.map((outbox) => outbox.work()));
    expect(new Set(given.map(({ address }) => address)).size).toBe(40);
    expect(given).toHaveLength(40);
  });
});
