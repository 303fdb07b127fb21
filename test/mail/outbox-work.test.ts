/** The schedule, log and end of the outbox. On SQLite only, because no statement differs between the databases. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { SendResult } from '../../src/mail/mail.ts';
import { type OutboxOptions, openOutbox } from '../../src/mail/outbox.ts';
import { openLog } from '../../src/platform/log.ts';
import { type Storage, StorageUnavailable } from '../../src/storage/database.ts';
import { openSqlite } from '../../src/storage/sqlite/store.ts';
import { testClock } from '../support/clock.ts';
import { later, mailerThat, never, render, sent } from './outbox-parts.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Returns a clock whose timers fire when the test advances it. */
function clockToPass() {
  let waiting: { at: number; callback: () => void }[] = [];
  const clock = testClock();
  const after = (ms: number, callback: () => void) => {
    const one = { at: clock.monotonic() + ms, callback };
    waiting.push(one);
    return () => {
      waiting = waiting.filter((each) => each !== one);
    };
  };
  const pass = (ms: number) => {
    clock.advance(ms);
    const due = waiting.filter(({ at }) => at <= clock.monotonic());
    waiting = waiting.filter((each) => !due.includes(each));
    for (const { callback } of due) callback();
  };
  return { ...clock, after, pass, waiting: () => waiting.length };
}

let folder: string;
let clock: ReturnType<typeof clockToPass>;
let storage: Storage;
let lines: Record<string, unknown>[];
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'outbox-'));
});
beforeEach(async () => {
  clock = clockToPass();
  lines = [];
  storage = await openSqlite(join(folder, 'service.db'), clock);
  await storage.write((tx) => tx.deleteFrom('messages').execute());
});
afterEach(() => storage.close());
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function outboxOf(options: Pick<OutboxOptions, 'mailer'> & Partial<OutboxOptions>) {
  const write = (line: string) => {
    const { time: _, ...event } = JSON.parse(line);
    lines.push(event);
  };
  const log = openLog('info', write);
  return openOutbox({ storage, clock, render, perMinute: 1_000, log, ...options });
}

const rows = () => storage.read((db) => db.selectFrom('messages').selectAll());
const turns = async () => {
  for (let turn = 0; turn < 50; turn += 1) await clock.turn();
};

/** Returns a mailer whose sends end only when the test answers them. Its close refuses running sends. */
function mailerThatHolds() {
  const held: ((result: SendResult) => void)[] = [];
  const { mailer, given } = mailerThat(() => new Promise((resolve) => held.push(resolve)));
  const close = async () => {
    for (const answer of held) answer({ ...later, reason: 'closed' } as SendResult);
  };
  return { mailer: { ...mailer, close }, given, held };
}

test('logs each attempt with Message-ID and outcome, and without an address', async () => {
  const answers: Record<string, SendResult> = { sent, later, never };
  const { mailer } = mailerThat(({ address }) => answers[address.split('@')[0] ?? ''] ?? sent);
  const dead: string[] = [];
  let id = 0;
  const outbox = outboxOf({
    mailer,
    newId: () => {
      id += 1;
      return `id-${id}`;
    },
    onFailed: (kind) => dead.push(kind),
    render: async (row) => (row.key.startsWith('nothing') ? undefined : await render(row)),
  });
  for (const name of ['sent', 'later', 'never', 'nothing']) {
    await storage.write(outbox.messageTo(`${name}@x.example`));
    expect(await outbox.work()).toBe(1);
  }
  const entry = { kind: 'confirmation', attempt: 1 };
  const idOf = (n: number) => ({ messageId: `<id-${n}@localhost>`, ...entry });
  expect(lines).toEqual([
    { level: 'info', ...idOf(1), msg: 'message sent' },
    { level: 'warn', ...idOf(2), reason: '451', msg: 'message deferred' },
    { level: 'error', ...idOf(3), reason: '550', msg: 'message failed permanently' },
    { level: 'info', ...idOf(4), msg: 'obsolete message dropped' },
  ]);
  expect(dead).toEqual(['confirmation']);
  expect((await rows()).map(({ key }) => key).sort()).toEqual(['later@x.example', 'never@x.example', 'sent@x.example']);
});

test('logs only the type of an error that the mailer throws', async () => {
  const { mailer } = mailerThat(() => {
    throw new TypeError('jane@x.example');
  });
  const outbox = outboxOf({ mailer });
  await storage.write(outbox.messageTo('jane@x.example'));
  await outbox.work();
  expect(lines).toMatchObject([{ level: 'warn', reason: 'TypeError', msg: 'message deferred' }]);
});

test('writes nothing to the store if no message is due', async () => {
  let writes = 0;
  const counting: Storage = {
    ...storage,
    write: async (change) => {
      writes += 1;
      return await storage.write(change);
    },
  };
  const { mailer } = mailerThat(() => sent);
  const outbox = outboxOf({ mailer, storage: counting });
  await storage.write(outbox.messageTo('jane@x.example'));
  await outbox.work();
  const before = writes;
  await outbox.work();
  expect(writes).toBe(before);
});

test('calls onFailed for a message if the process died in its last attempt', async () => {
  const dead: string[] = [];
  const { mailer } = mailerThat(() => sent);
  const outbox = outboxOf({ mailer, onFailed: (kind) => dead.push(kind) });
  await storage.write(outbox.messageTo('jane@x.example'));
  await storage.write((tx) => tx.updateTable('messages').set({ attempts: 7 }).execute());
  await outbox.work();
  expect(dead).toEqual(['confirmation']);
});

test('logs the Message-ID of a mark that the store refused', async () => {
  let away = false;
  const { mailer, given } = mailerThat(() => {
    away = true;
    return sent;
  });
  const refusing: Storage = {
    ...storage,
    write: async (change) => {
      if (away) throw new StorageUnavailable('away from jane@x.example');
      return await storage.write(change);
    },
  };
  const outbox = outboxOf({ mailer, storage: refusing });
  await storage.write(outbox.messageTo('jane@x.example'));
  await outbox.work();
  const reason = 'StorageUnavailable';
  expect(lines.slice(1)).toEqual([
    { level: 'error', messageId: given[0]?.messageId, reason, msg: 'message outcome not stored yet' },
  ]);
});

test.each([
  [5_000, 1],
  [5_001, 0],
])('after a pause of %i ms between the claim and the send, sends %i messages', async (pause, expected) => {
  const { mailer, given } = mailerThat(() => sent);
  const slow: Storage = {
    ...storage,
    write: async (change) => {
      const changed = await storage.write(change);
      const [row] = await rows();
      if (row?.attempts === 1 && row.status === 'pending') clock.advance(pause);
      return changed;
    },
  };
  const outbox = outboxOf({ mailer, storage: slow });
  await storage.write(outbox.messageTo('jane@x.example'));
  await outbox.work();
  expect(given).toHaveLength(expected);
  expect(lines).toMatchObject([
    expected === 1
      ? { msg: 'message sent' }
      : { level: 'warn', attempt: 1, msg: 'message attempt skipped after a pause' },
  ]);
});

test('prepares notices before it claims messages, and sends the messages even if the preparation fails', async () => {
  const { mailer, given } = mailerThat(() => sent);
  const prepared: number[] = [];
  const outbox = outboxOf({
    mailer,
    prepare: async () => {
      prepared.push(given.length);
      throw new StorageUnavailable('away');
    },
  });
  await storage.write(outbox.messageTo('jane@x.example'));
  expect(await outbox.work()).toBe(1);
  expect([prepared, given.length]).toEqual([[0], 1]);
  const reason = 'StorageUnavailable';
  expect(lines[0]).toEqual({ level: 'error', reason, msg: 'notices not throttled' });
});

test('deletes old rows at most once an hour', async () => {
  const { mailer } = mailerThat(() => sent);
  const outbox = outboxOf({ mailer });
  await storage.write(outbox.messageTo('jane@x.example'));
  await outbox.work();
  for (const [pause, left] of [
    [23.5 * HOUR, 1],
    [HOUR - 1, 1],
    [1, 0],
  ] as const) {
    clock.advance(pause);
    await outbox.work();
    expect(await rows()).toHaveLength(left);
  }
});

test('sends five messages at once, and the sixth when one of the five sends has ended', async () => {
  const { mailer, given, held } = mailerThatHolds();
  const outbox = outboxOf({ mailer });
  for (let n = 0; n < 7; n += 1) await storage.write(outbox.messageTo(`p${n}@x.example`));
  const work = outbox.work();
  await expect.poll(() => given.length).toBe(5);
  await turns();
  expect(given).toHaveLength(5);
  held[2]?.(sent);
  await expect.poll(() => given.length).toBe(6);
  await turns();
  expect(given).toHaveLength(6);
  held[4]?.(sent);
  await expect.poll(() => given.length).toBe(7);
  for (const answer of held) answer(sent);
  expect(await work).toBe(7);
});

test('sends nothing before its start, and checks for messages once a second after its start', async () => {
  const { mailer, given } = mailerThat(() => sent);
  let looks = 0;
  const prepare = async () => {
    looks += 1;
  };
  const outbox = outboxOf({ mailer, prepare });
  await storage.write(outbox.messageTo('jane@x.example'));
  clock.pass(10_000);
  await turns();
  expect([looks, given.length]).toEqual([0, 0]);
  outbox.start();
  outbox.start();
  await turns();
  expect(looks).toBe(0);
  for (let second = 1; second <= 3; second += 1) {
    clock.pass(999);
    await turns();
    expect(looks).toBe(second - 1);
    clock.pass(1);
    await expect.poll(() => looks).toBe(second);
    await turns();
    expect(looks).toBe(second);
  }
  await expect.poll(() => given.length).toBe(1);
  await storage.write(outbox.messageTo('joan@x.example'));
  clock.pass(1_000);
  await expect.poll(() => given.length).toBe(2);
  await outbox.close();
});

test('starts no check for messages while the previous check runs', async () => {
  const { mailer } = mailerThat(() => sent);
  const gate = Promise.withResolvers<void>();
  let looks = 0;
  const prepare = async () => {
    looks += 1;
    await gate.promise;
  };
  const outbox = outboxOf({ mailer, prepare });
  outbox.start();
  clock.pass(1_000);
  await expect.poll(() => looks).toBe(1);
  clock.pass(1_000);
  clock.pass(1_000);
  await turns();
  expect(looks).toBe(1);
  gate.resolve();
  await turns();
  clock.pass(1_000);
  await expect.poll(() => looks).toBe(2);
  await outbox.close();
});

test('logs a check that fails because of the store, and sends the message at the next check', async () => {
  const { mailer, given } = mailerThat(() => sent);
  let away = false;
  const refusing: Storage = {
    ...storage,
    read: async (query) => {
      if (away) throw new StorageUnavailable('away');
      return await storage.read(query);
    },
  };
  const outbox = outboxOf({ mailer, storage: refusing });
  await storage.write(outbox.messageTo('jane@x.example'));
  away = true;
  outbox.start();
  clock.pass(1_000);
  await expect.poll(() => lines).toHaveLength(1);
  const reason = 'StorageUnavailable';
  expect(lines[0]).toEqual({ level: 'error', reason, msg: 'outbox not processed' });
  away = false;
  await turns();
  clock.pass(1_000);
  await expect.poll(() => given.length).toBe(1);
  await outbox.close();
});

test('closes its mailer and keeps the message pending if it was never started', async () => {
  const { mailer, held } = mailerThatHolds();
  const outbox = outboxOf({ mailer });
  await storage.write(outbox.messageTo('jane@x.example'));
  const work = outbox.work();
  await expect.poll(() => held.length).toBe(1);
  const closed = outbox.close();
  clock.pass(5_000);
  await closed;
  expect(await work).toBe(1);
  expect(await rows()).toMatchObject([{ status: 'pending', attempts: 1 }]);
});

test('closes at once if no send is running, and does not check for messages afterwards', async () => {
  const { mailer, given } = mailerThat(() => sent);
  let looks = 0;
  const prepare = async () => {
    looks += 1;
  };
  const outbox = outboxOf({ mailer, prepare });
  outbox.start();
  await outbox.close();
  expect(clock.waiting()).toBe(0);
  await storage.write(outbox.messageTo('jane@x.example'));
  clock.pass(10_000);
  await turns();
  expect([looks, given.length]).toEqual([0, 0]);
});

test('waits five seconds for running sends at close, then aborts and logs them, and claims nothing more', async () => {
  const { mailer, given } = mailerThatHolds();
  const outbox = outboxOf({ mailer });
  for (let n = 0; n < 6; n += 1) await storage.write(outbox.messageTo(`p${n}@x.example`));
  outbox.start();
  clock.pass(1_000);
  await expect.poll(() => given.length).toBe(5);
  const closing = outbox.close();
  clock.pass(4_999);
  await turns();
  expect(lines).toEqual([]);
  clock.pass(1);
  await closing;
  expect(lines.map(({ msg, reason }) => `${msg} ${reason}`)).toEqual(
    Array.from({ length: 5 }, () => 'message deferred closed'),
  );
  await turns();
  expect(given).toHaveLength(5);
  expect(await outbox.depth()).toEqual({ pending: 6, dead: 0 });
});

test('waits for a running check for messages at close', async () => {
  const { mailer } = mailerThat(() => sent);
  const gate = Promise.withResolvers<void>();
  let looks = 0;
  const prepare = async () => {
    looks += 1;
    await gate.promise;
  };
  const outbox = outboxOf({ mailer, prepare });
  outbox.start();
  clock.pass(1_000);
  await expect.poll(() => looks).toBe(1);
  let closed = false;
  const closing = outbox.close().then(() => {
    closed = true;
  });
  await turns();
  expect(closed).toBe(false);
  gate.resolve();
  await closing;
});
