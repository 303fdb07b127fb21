import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
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
