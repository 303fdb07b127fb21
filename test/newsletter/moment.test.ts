import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lastEventsOf, nextEventTime } from '../../src/newsletter/subscriber-queries.ts';
import type { Storage } from '../../src/storage/database.ts';
import { testClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { keepRows, RECEIVED, submissionRow } from '../support/submissions.ts';

describe.each(databases)('nextEventTime, on %s', (name, create) => {
  let database: TestDatabase;
  let storage: Storage;
  beforeAll(async () => {
    database = await create();
    storage = await database.open(testClock());
    // The events of the fixtures have the time RECEIVED.
    await keepRows(storage, [submissionRow({ subscriber_id: 'told' }), submissionRow()]);
  });
  afterAll(async () => {
    await storage.close();
    await database.remove();
  });

  const before = '2026-08-31T00:00:00.000Z';
  const later = '2026-09-02T00:00:00.000Z';
  const row = { consent_recorded_at: before, confirmed_at: null, unsubscribed_at: null };

  test.each([
    ['returns the current time if the last event is earlier', { ...row, id: 'told' }, later, later],
    [
      'returns a time after the last event if the clock is behind that event',
      { ...row, id: 'told' },
      before,
      '2026-09-01T12:00:00.001Z',
    ],
    [
      'returns a time after the last event if both times are equal',
      { ...row, id: 'told' },
      RECEIVED,
      '2026-09-01T12:00:00.001Z',
    ],
    [
      'returns a time after the last change in the row if the clock is behind that change',
      { ...row, id: 'x', confirmed_at: later },
      RECEIVED,
      '2026-09-02T00:00:00.001Z',
    ],
    ['ignores the events of other subscribers', { ...row, id: 'x' }, RECEIVED, RECEIVED],
  ])('%s', async (_what, of, now, moment) => {
    expect(await storage.write((tx) => nextEventTime(tx, of, now))).toBe(moment);
  });

  test('lastEventsOf finds the events through the index on subscriber_id', async () => {
    const plan = await storage.write(async (tx) => {
      const query = lastEventsOf(tx, 'told').compile();
      const explained = (sql: string) => tx.executeQuery({ ...query, sql });
      if (name === 'SQLite') return await explained(`explain query plan ${query.sql}`);
      // Makes the planner behave as with a million rows, where a walk in order looks cheaper than sorting.
      const dear = (sql: string) => tx.executeQuery({ ...query, sql, parameters: [] });
      await dear('set local enable_seqscan = off');
      await dear('set local enable_sort = off');
      return await explained(`explain ${query.sql}`);
    });
    expect(JSON.stringify(plan.rows)).toContain('submissions_subscriber_id');
  });
});
