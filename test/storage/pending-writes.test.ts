import { expect, test } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { StorageUnavailable } from '../../src/storage/database.ts';
import { openPendingWrites } from '../../src/storage/pending-writes.ts';

const away = new StorageUnavailable('away');
const fails = (error: Error) => () => Promise.reject(error);

test.each([
  ['the same statement', false, 'run'],
  ['the given statement', true, 'write'],
])('flush repeats a failed statement as %s', async (_, given, expected) => {
  const journal = openPendingWrites<object>();
  const key = {};
  const done: string[] = [];
  let isAway = true;
  const run = async () => {
    if (isAway) throw away;
    done.push('run');
  };
  const write = async () => void done.push('write');
  await expect(journal.track(key, run, given ? write : run)).rejects.toBe(away);
  expect([journal.hasPendingWrites(), journal.keys()]).toEqual([true, [key]]);
  isAway = false;
  await journal.flush();
  expect([journal.hasPendingWrites(), journal.keys(), done]).toEqual([false, [], [expected]]);
});

test('flush writes in order the writes that were remembered while the store was unavailable', async () => {
  const journal = openPendingWrites<object>();
  const written: number[] = [];
  let isAway = true;
  for (const n of [1, 2]) {
    journal.remember({}, async () => {
      if (isAway) throw away;
      written.push(n);
    });
  }
  await expect(journal.flush()).rejects.toBe(away);
  expect([journal.keys().length, written]).toEqual([2, []]);
  isAway = false;
  await journal.flush();
  expect([journal.keys().length, written]).toEqual([0, [1, 2]]);
});

test('flush writes the other writes if the store refuses one of them', async () => {
  const journal = openPendingWrites<object>();
  const written: number[] = [];
  const [refused, taken] = [{}, {}];
  journal.remember(refused, fails(new Error('constraint')));
  journal.remember(taken, async () => void written.push(2));
  await journal.flush();
  expect([journal.keys(), written]).toEqual([[refused], [2]]);
});

test('a write that is remembered during a flush is written once, before the next flush returns', async () => {
  const journal = openPendingWrites<object>();
  const gate = Promise.withResolvers<void>();
  const written: string[] = [];
  journal.remember({}, async () => {
    await gate.promise;
    written.push('first');
  });
  const first = journal.flush();
  await systemClock.turn();
  journal.remember({}, async () => void written.push('second'));
  const others = [journal.flush(), journal.flush()];
  await systemClock.turn();
  expect(written).toEqual([]);
  gate.resolve();
  await Promise.all([first, ...others]);
  expect([written, journal.hasPendingWrites()]).toEqual([['first', 'second'], false]);
});

test('idle resolves with a pending write after the running statement failed', async () => {
  const journal = openPendingWrites<object>();
  const key = {};
  const statement = Promise.withResolvers<void>();
  const tracked = journal.track(key, () => statement.promise).catch(() => {});
  expect([journal.hasPendingWrites(), journal.keys()]).toEqual([false, [key]]);
  let isIdle = false;
  const idle = journal.idle().then(() => {
    isIdle = true;
    return journal.hasPendingWrites();
  });
  await systemClock.turn();
  expect(isIdle).toBe(false);
  statement.reject(away);
  expect(await idle).toBe(true);
  await tracked;
});
