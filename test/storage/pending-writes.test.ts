import { expect, test } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { StorageUnavailable } from '../../src/storage/database.ts';
import { openPendingWrites } from '../../src/storage/pending-writes.ts';

const away = new StorageUnavailable('away');
const fails = (error: Error) => () => Promise.reject(error);

test.each([
  ['the same statement', false, 'run'],
  ['the given statement', true, 'write'],
])('repeats a failed statement as %s', async (_, given, expected) => {
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

test('remembers writes while the store is unavailable, and flushes them in order', async () => {
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

test('writes the others if the store refuses one', async () => {
  const journal = openPendingWrites<object>();
  const written: number[] = [];
  const [refused, taken] = [{}, {}];
  journal.remember(refused, fails(new Error('constraint')));
  journal.remember(taken, async () => void written.push(2));
  await journal.flush();
  expect([journal.keys(), written]).toEqual([[refused], [2]]);
});

test('writes once, before the next flush returns, a write that was remembered during a flush', async () => {
  const journal = openPendingWrites<object>();
  const gate = Promise.withResolvers<void>();
  const written: string[] = [];
  journal.remember({}, async () => {
    await gate.promise;
    written.push('first');
  });
  const first = journal.flush();
  journal.remember({}, async () => void written.push('second'));
  const others = [journal.flush(), journal.flush()];
  await systemClock.turn();
  expect(written).toEqual([]);
  gate.resolve();
  await Promise.all([first, ...others]);
  expect([written, journal.hasPendingWrites()]).toEqual([['first', 'second'], false]);
});

test('reports a pending write once the running statement has failed', async () => {
  const journal = openPendingWrites<object>();
  const key = {};
  const statement = Promise.withResolvers<void>();
  const tracked = journal.track(key, () => statement.promise).catch(() => {});
  expect([journal.hasPendingWrites(), journal.keys()]).toEqual([false, [key]]);
  const idle = journal.idle().then(() => journal.hasPendingWrites());
  statement.reject(away);
  expect(await idle).toBe(true);
  await tracked;
});
