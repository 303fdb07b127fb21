/** The time at which the remains of erased rows are removed from the database's files. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openLog } from '../../src/platform/log.ts';
import { type Scrubbed, type Storage, StorageUnavailable } from '../../src/storage/database.ts';
import {
  lastScrubDueAt,
  openScrubbing,
  requestScrub,
  scrubDueAt,
  scrubRequested,
} from '../../src/storage/scrubbing.ts';
import { testClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { until } from '../support/until.ts';

/** Half past ten at night in Berlin. */
const EVENING = new Date('2026-03-28T21:30:00.000Z');
const silent = { info: () => {}, error: () => {}, warn: () => {} };

describe.each(databases)('scrubbing on %s', (_name, create) => {
  let database: TestDatabase;
  let opened: Storage;
  let scrubs: number;
  let result: Scrubbed;
  /** A store with a large file, whose rewrite is only counted. */
  let large: Storage;
  beforeAll(async () => {
    database = await create();
    opened = await database.open(testClock());
  });
  afterAll(async () => {
    await opened.close();
    await database.remove();
  });
  beforeEach(async () => {
    await opened.write((tx) => tx.deleteFrom('scrub_requests').execute());
    scrubs = 0;
    result = 'clean';
    large = {
      ...opened,
      scrubLockMs: () => 501,
      scrub: async () => {
        scrubs += 1;
        return result;
      },
    };
  });
  const request = (dueAt: Date, id: string = crypto.randomUUID()) =>
    opened.write((tx) => requestScrub(tx, { id, dueAt }));

  test.each([
    ['2026-03-28T21:30:00.000Z', 'Europe/Berlin', '2026-03-29T01:00:00.000Z'], // clocks go forward at 02:00
    ['2026-10-24T22:30:00.000Z', 'Europe/Berlin', '2026-10-25T02:00:00.000Z'], // and back at 03:00
    ['2026-06-01T00:59:59.999Z', 'Europe/Berlin', '2026-06-01T01:00:00.000Z'],
    ['2026-06-01T01:00:00.000Z', 'Europe/Berlin', '2026-06-01T01:00:00.000Z'],
    ['2026-06-01T01:00:00.001Z', 'Europe/Berlin', '2026-06-02T01:00:00.000Z'],
    ['2026-06-01T12:00:00.000Z', 'Asia/Kolkata', '2026-06-01T21:30:00.000Z'],
  ])('scrubDueAt waits from %s in %s until %s if the lock would last longer than 500 ms', (from, zone, due) => {
    expect(scrubDueAt(large, new Date(from), zone).toISOString()).toBe(due);
  });

  test('scrubDueAt returns now if the lock lasts 500 ms or less', () => {
    const small = { ...large, scrubLockMs: () => 500 };
    expect(scrubDueAt(small, EVENING, 'Europe/Berlin')).toEqual(EVENING);
  });

  test('scrubs nothing if no request is due', async () => {
    expect(await scrubRequested(large, EVENING, 'UTC')).toBeUndefined();
    await request(new Date(EVENING.getTime() + 1));
    expect(await scrubRequested(large, EVENING, 'UTC')).toBeUndefined();
    expect([scrubs, await lastScrubDueAt(opened)]).toEqual([0, new Date(EVENING.getTime() + 1)]);
  });

  test.each(['clean', 'vacuumed', 'unvacuumed'] as const)(
    'deletes all due requests after one rewrite with the result %s',
    async (scrubbed) => {
      result = scrubbed;
      await request(EVENING);
      await request(new Date(EVENING.getTime() - 1));
      expect(await scrubRequested(large, EVENING, 'UTC')).toBe(scrubbed);
      expect([scrubs, await lastScrubDueAt(opened)]).toEqual([1, undefined]);
    },
  );

  test.each(['held', 'failed', 'seen'] as const)(
    'scrubs a large file again the next night after the result %s',
    async (scrubbed) => {
      result = scrubbed;
      await request(EVENING);
      expect(await scrubRequested(large, EVENING, 'Europe/Berlin')).toBe(scrubbed);
      expect(await lastScrubDueAt(opened)).toEqual(new Date('2026-03-29T01:00:00.000Z'));
    },
  );

  test('scrubs a small file again an hour after the result held', async () => {
    result = 'held';
    await request(EVENING);
    await scrubRequested({ ...large, scrubLockMs: () => 0 }, EVENING, 'UTC');
    expect(await lastScrubDueAt(opened)).toEqual(new Date(EVENING.getTime() + 3_600_000));
  });

  test('does not delete a request that arrives during the rewrite', async () => {
    await request(EVENING);
    const during = {
      ...large,
      scrub: async (): Promise<Scrubbed> => {
        await request(EVENING, 'during');
        return 'clean';
      },
    };
    await scrubRequested(during, EVENING, 'UTC');
    expect(await lastScrubDueAt(opened)).toEqual(EVENING);
  });

  test('scrubs after the start if an earlier process left a request', async () => {
    const clock = testClock(EVENING.toISOString());
    await request(EVENING);
    const ticks: (() => void)[] = [];
    const after = (_ms: number, tick: () => void) => {
      ticks.push(tick);
      return () => {};
    };
    const timed = { ...clock, after };
    const logged: unknown[] = [];
    const log = openLog('info', (line) => logged.push(JSON.parse(line)));
    const scrubbing = openScrubbing({ storage: large, clock: timed, log, timeZone: 'UTC' });
    scrubbing.start();
    ticks.shift()?.();
    await scrubbing.close();
    expect([scrubs, await lastScrubDueAt(opened)]).toEqual([1, undefined]);
    expect(logged).toMatchObject([{ level: 'info', msg: 'deleted rows scrubbed', scrubbed: 'clean' }]);
  });

  test('logs nothing if no request is due, and one error for failures in a row', async () => {
    const logged: unknown[] = [];
    const log = openLog('info', (line) => logged.push(JSON.parse(line)));
    let isAway = false;
    let reads = 0;
    const read: Storage['read'] = async (query) => {
      reads += 1;
      if (isAway) throw new StorageUnavailable('away');
      return await large.read(query);
    };
    const scrubbing = openScrubbing({ storage: { ...large, read }, clock: testClock(), log, timeZone: 'UTC' });
    scrubbing.soon();
    await until(() => reads === 1);
    isAway = true;
    for (const nth of [2, 3]) {
      scrubbing.soon();
      await until(() => reads === nth);
    }
    await scrubbing.close();
    const error = { level: 'error', msg: 'scrub of deleted rows failed', err: { message: 'away' } };
    expect(logged).toMatchObject([error]);
  });

  test('runs one rewrite at a time', async () => {
    await request(EVENING);
    const log = silent as never;
    const clock = testClock(EVENING.toISOString());
    const scrubbing = openScrubbing({ storage: large, clock, log, timeZone: 'UTC' });
    scrubbing.soon();
    scrubbing.soon();
    await scrubbing.close();
    expect(scrubs).toBe(1);
  });
});
