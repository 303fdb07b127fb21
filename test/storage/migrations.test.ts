import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { StorageUnavailable } from '../../src/storage/database.ts';
import { databases } from '../support/databases.ts';

describe.each(databases)('migrations on %s', (_name, create) => {
  test('several instances may start at once, and again', async () => {
    const database = await create();
    for (let round = 0; round < 2; round += 1) {
      const storages = await Promise.all(
        Array.from({ length: 5 }, () => database.open(systemClock)),
      );
      for (const storage of storages) {
        await storage.check();
        expect(await storage.db.selectFrom('executions').selectAll().execute()).toEqual([]);
      }
      await Promise.all(storages.map((storage) => storage.close()));
    }
    await database.remove();
  });

  test('a newer schema is refused with a sentence', async () => {
    const database = await create();
    const storage = await database.open(systemClock);
    await sql`insert into kysely_migration (name, timestamp) values ('9999-from-the-future', '2030-01-01')`.execute(
      storage.db,
    );
    await storage.close();
    await expect(database.open(systemClock)).rejects.toThrow(StorageUnavailable);
    await expect(database.open(systemClock)).rejects.toThrow(/newer version/);
    await database.remove();
  });
});
