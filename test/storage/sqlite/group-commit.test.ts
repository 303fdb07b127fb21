import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/platform/clock.ts';
import type { OpenTransaction, Storage } from '../../../src/storage/database.ts';
import { groupCommit } from '../../../src/storage/sqlite/group-commit.ts';
import { openSqlite } from '../../../src/storage/sqlite/store.ts';
import { testClock } from '../../support/clock.ts';

const folder = mkdtempSync(join(tmpdir(), 'group-'));
let storage: Storage;
beforeAll(async () => {
  storage = await openSqlite(join(folder, 'service.db'), systemClock);
});
afterAll(async () => {
  await storage.close();
  rmSync(folder, { recursive: true });
});

const insert = (id: string) => (tx: OpenTransaction) =>
  tx.insertInto('operator_audit').values({ id, at: '', name: 'n', what: 'w', about: 'a' }).execute();
const stored = async (prefix: string) => {
  const rows = await storage.read((db) =>
    db.selectFrom('operator_audit').select('id').where('id', 'like', `${prefix}%`).orderBy('id'),
  );
  return rows.map((row) => row.id);
};

describe('group commit', () => {
  test('commits concurrent writes together, and resolves each write after it is stored', async () => {
    let transactions = 0;
    const write = (id: string) =>
      storage.write(async (tx) => {
        if (id === 'a-0') transactions += 1;
        return await insert(id)(tx);
      });
    await Promise.all(Array.from({ length: 32 }, (_, n) => write(`a-${n}`)));
    expect([(await stored('a-')).length, transactions]).toEqual([32, 1]);
  });

  test('repeats the writes of a failed batch one by one, so that the other writes succeed', async () => {
    let failures = 0;
    const poisoned = storage.write(async (tx) => {
      await insert('b-poisoned')(tx);
      failures += 1;
      throw new Error('poisoned');
    });
    const good = [storage.write(insert('b-1')), storage.write(insert('b-2'))];
    await expect(poisoned).rejects.toThrow('poisoned');
    await Promise.all(good);
    expect([await stored('b-'), failures]).toEqual([['b-1', 'b-2'], 2]);
  });

  test('waits for another process’s lock without blocking the event loop, then throws StorageUnavailable', async () => {
    const { DatabaseSync } = await import('node:sqlite');
    const other = new DatabaseSync(join(folder, 'service.db'));
    other.exec('begin immediate');
    let worst = 0;
    let last = performance.now();
    const beat = setInterval(() => {
      worst = Math.max(worst, performance.now() - last - 5);
      last = performance.now();
    }, 5);
    const before = performance.now();
    const waiting = ['c-1', 'c-2', 'c-3'].map((id) => storage.write(insert(id)));
    await systemClock.sleep(50);
    expect(await stored('b-')).toEqual(['b-1', 'b-2']);
    expect(performance.now() - before).toBeLessThan(1_000);
    for (const { reason } of (await Promise.allSettled(waiting)) as PromiseRejectedResult[]) {
      expect(reason).toMatchObject({ name: 'StorageUnavailable' });
    }
    clearInterval(beat);
    expect(performance.now() - before).toBeLessThan(4_000);
    // A blocked event loop would take two seconds. On a busy machine, the process itself waits for a core.
    expect(worst).toBeLessThan(500);
    other.exec('rollback');
    other.close();
    await storage.write(insert('c-4'));
    expect(await stored('c-')).toEqual(['c-4']);
  });

  test('waits for a lock once, and refuses writes that arrive during the wait together with the waiting writes', async () => {
    const { DatabaseSync } = await import('node:sqlite');
    let waited = 0;
    const clock = testClock();
    const opened = await openSqlite(join(folder, 'service.db'), {
      ...clock,
      sleep: async (ms) => {
        waited += ms;
        clock.advance(ms);
      },
    });
    const other = new DatabaseSync(join(folder, 'service.db'));
    other.exec('begin immediate');
    // More than two batches.
    const writes = Array.from({ length: 300 }, (_, n) => opened.write(insert(`e-${n}`)));
    for (const { reason } of (await Promise.allSettled(writes)) as PromiseRejectedResult[]) {
      expect(reason).toMatchObject({ name: 'StorageUnavailable' });
    }
    expect(waited).toBeLessThan(3_000);
    other.exec('rollback');
    other.close();
    // A later write waits for the lock again.
    await opened.write(insert('e-300'));
    await opened.close();
    expect(await stored('e-')).toEqual(['e-300']);
  });

  test('makes a read wait for the end of an open transaction', async () => {
    const end = Promise.withResolvers<void>();
    const doomed = storage.write(async (tx) => {
      await insert('d-1')(tx);
      await end.promise;
      throw new Error('rolled back');
    });
    // By now, the transaction is open and has written.
    await systemClock.sleep(50);
    const reading = stored('d-');
    const first = await Promise.race([reading, systemClock.sleep(50).then(() => 'it waits')]);
    end.resolve();
    await expect(doomed).rejects.toThrow('rolled back');
    expect([first, await reading]).toEqual(['it waits', []]);
  });
});

describe('groupCommit, batches', () => {
  /** Same values as in `src/storage/sqlite/group-commit.ts`. */
  const BATCH_MAXIMUM = 128;
  const GATHERING_TURNS = 3;

  /** Returns a store that records the members of each transaction and fails on demand. */
  function batching() {
    const batches: string[][] = [];
    const fails = { begin: false, commit: false };
    let turns = 0;
    /** Callbacks by number of the event loop's turn. */
    const inTurn = new Map<number, () => void>();
    const turn = async () => {
      turns += 1;
      inTurn.get(turns)?.();
      await systemClock.turn();
    };
    const commit = groupCommit(
      async (run) => {
        if (fails.begin) throw new Error('locked');
        batches.push([]);
        const value = await run({} as OpenTransaction);
        if (fails.commit) throw new Error('no answer');
        return value;
      },
      { ...systemClock, turn },
    );
    const write = (name: string, fault?: Error) =>
      commit(async () => {
        batches.at(-1)?.push(name);
        if (fault !== undefined) throw fault;
        return name;
      });
    return { write, batches, fails, inTurn, turns: () => turns };
  }
  const names = (count: number) => Array.from({ length: count }, (_, n) => `w-${n}`);
  const settled = async (writes: Promise<unknown>[]) =>
    (await Promise.allSettled(writes)).map((one) => (one.status === 'fulfilled' ? one.value : one.reason.message));

  test('puts at most 128 members in a batch, and returns to each its own result', async () => {
    const { write, batches } = batching();
    const all = names(2 * BATCH_MAXIMUM + 1);
    expect(await settled(all.map((name) => write(name)))).toEqual(all);
    expect(batches.map(({ length }) => length)).toEqual([BATCH_MAXIMUM, BATCH_MAXIMUM, 1]);
    expect(batches.flat()).toEqual(all);
  });

  test('gathers the writes of three turns of the event loop, and puts later writes into the next batch', async () => {
    const { write, batches, inTurn, turns } = batching();
    const later: Promise<unknown>[] = [];
    inTurn.set(GATHERING_TURNS, () => later.push(write('in the third turn')));
    await write('first');
    await Promise.all(later);
    expect(batches).toEqual([['first', 'in the third turn']]);
    expect(turns()).toBe(GATHERING_TURNS);
    // After an idle phase, the next batch gathers anew.
    await write('next');
    expect([batches.at(-1), turns()]).toEqual([['next'], 2 * GATHERING_TURNS]);
  });

  test('runs a write alone in its own transaction, between the batches before and after it', async () => {
    const batches: string[][] = [];
    const transact = async <T>(run: (tx: OpenTransaction) => Promise<T>) => {
      batches.push([]);
      return await run({} as OpenTransaction);
    };
    const own = async <T>(run: (tx: OpenTransaction) => Promise<T>) => {
      batches.push(['alone:']);
      await systemClock.sleep(5);
      return await run({} as OpenTransaction);
    };
    const commit = groupCommit(transact, systemClock);
    const write = (name: string) => async () => {
      batches.at(-1)?.push(name);
      if (name === 'failing') throw new Error('no');
      return name;
    };
    const writes = [commit(write('a')), commit(write('b')), commit(write('c'), own), commit(write('failing'), own)];
    writes.push(commit(write('d')), commit(write('e')));
    expect(await settled(writes)).toEqual(['a', 'b', 'c', 'no', 'd', 'e']);
    expect(batches).toEqual([
      ['a', 'b'],
      ['alone:', 'c'],
      ['alone:', 'failing'],
      ['d', 'e'],
    ]);
  });

  test('does not repeat a failed batch that has only one member', async () => {
    const { write, batches } = batching();
    expect(await settled([write('alone', new Error('poisoned'))])).toEqual(['poisoned']);
    expect(batches).toEqual([['alone']]);
  });

  test('repeats a batch member by member if one fails, even the last', async () => {
    const { write, batches } = batching();
    const writes = [write('a'), write('b'), write('c', new Error('poisoned'))];
    expect(await settled(writes)).toEqual(['a', 'b', 'poisoned']);
    expect(batches).toEqual([['a', 'b', 'c'], ['a'], ['b'], ['c']]);
  });

  test('does not reject the writes that wait for the next batch if a batch fails', async () => {
    const { write, batches } = batching();
    const [first = '', ...others] = names(BATCH_MAXIMUM + 1);
    const writes = [write(first, new Error('poisoned')), ...others.map((name) => write(name))];
    expect(await settled(writes)).toEqual(['poisoned', ...others]);
    expect(batches.at(-1)).toEqual(others.slice(-1));
  });

  test('rejects every member of a batch whose commit fails, and never repeats the batch', async () => {
    const { write, batches, fails } = batching();
    fails.commit = true;
    expect(await settled([write('a'), write('b')])).toEqual(['no answer', 'no answer']);
    expect(batches).toEqual([['a', 'b']]);
    fails.commit = false;
    expect(await write('c')).toBe('c');
  });

  test('refuses all waiting writes if a batch can’t begin, and accepts later writes', async () => {
    const { write, batches, fails } = batching();
    fails.begin = true;
    const refused = names(BATCH_MAXIMUM + 1);
    expect(await settled(refused.map((name) => write(name)))).toEqual(refused.map(() => 'locked'));
    fails.begin = false;
    expect(await write('next')).toBe('next');
    expect(batches).toEqual([['next']]);
  });
});
