import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import type { Storage } from '../../src/storage/database.ts';
import { countSubmissionsOf, eraseSubmissionsOf } from '../../src/submissions/erasure.ts';
import { databases } from '../support/databases.ts';
import { allRows, keepRows, submissionRow } from '../support/submissions.ts';

const email = 'eve@example.com';
const of = (given: Parameters<typeof submissionRow>[0]) => submissionRow({ fields: { name: 'Eve', email }, ...given });

describe.each(databases)('eraseSubmissionsOf on %s', (_name, create) => {
  test.each(['write', 'writeBulk'] as const)('erases 2,300 rows of one person with %s and counts them', async (way) => {
    const database = await create();
    const storage = await database.open(systemClock);
    const other = submissionRow();
    const rows = [
      ...Array.from({ length: 2_000 }, () => of({})),
      ...Array.from({ length: 200 }, () => of({ form: 'newsletter', fields: { email } })),
      ...Array.from({ length: 100 }, () => of({ status: 'sending' })),
    ];
    await keepRows(storage, [...rows.slice(1_000), other, ...rows.slice(0, 1_000)]);
    const expected = { leads: 2_100, subscriptions: 200, sending: 100, unsubscribed: 0 };
    expect(await countSubmissionsOf(storage, email)).toEqual(expected);
    const { counts, ids } = await storage[way]((tx) => eraseSubmissionsOf(tx, email));
    expect(counts).toEqual(expected);
    expect(ids.toSorted()).toEqual(rows.map(({ id }) => id).toSorted());
    expect((await allRows(storage)).map(({ id }) => id)).toEqual([other.id]);
    expect(await storage[way]((tx) => eraseSubmissionsOf(tx, email))).toMatchObject({ ids: [] });
    await storage.close();
    await database.remove();
  });
});

describe.each(databases)('countSubmissionsOf on %s', (_name, create) => {
  const unsubscribed = '{"type":"subscriber.unsubscribed","data":{}}';
  const newsletter = (status: 'delivered' | 'undelivered' | 'waiting', event: string, receivedAt?: string) => ({
    ...of({ form: 'newsletter', status, ...(receivedAt !== undefined && { receivedAt }) }),
    event,
  });

  async function withRows(rows: Parameters<typeof keepRows>[1], run: (storage: Storage) => Promise<void>) {
    const database = await create();
    const storage = await database.open(systemClock);
    await keepRows(storage, rows);
    await run(storage);
    await storage.close();
    await database.remove();
  }

  test('counts the unsubscribe events that have not arrived, and eraseSubmissionsOf counts the same', async () => {
    const rows = [
      newsletter('waiting', unsubscribed),
      newsletter('undelivered', unsubscribed),
      newsletter('delivered', unsubscribed),
      newsletter('undelivered', '{"type":"subscriber.confirmed","data":{}}'),
      of({ status: 'undelivered' }),
    ];
    await withRows(rows, async (storage) => {
      const expected = { leads: 1, subscriptions: 4, sending: 0, unsubscribed: 2 };
      expect(await countSubmissionsOf(storage, email)).toEqual(expected);
      const { counts } = await storage.write((tx) => eraseSubmissionsOf(tx, email));
      expect(counts).toEqual(expected);
    });
  });

  test('counts only the newest submissions up to the given number', async () => {
    const rows = [
      newsletter('delivered', '{}', '2026-09-01T10:00:00.000Z'),
      of({ receivedAt: '2026-09-01T12:00:00.000Z' }),
      newsletter('delivered', '{}', '2026-09-01T09:00:00.000Z'),
      of({ receivedAt: '2026-09-01T11:00:00.000Z' }),
    ];
    await withRows(rows, async (storage) => {
      const counts = async (atMost: number) => {
        const { leads, subscriptions } = await countSubmissionsOf(storage, email, atMost);
        return [leads, subscriptions];
      };
      expect([await counts(2), await counts(3), await counts(9)]).toEqual([
        [2, 0],
        [2, 1],
        [2, 2],
      ]);
    });
  });
});
