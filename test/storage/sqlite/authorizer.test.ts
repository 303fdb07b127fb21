import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { SqliteConnection } from '../../../src/storage/sqlite/connection.ts';
import { openFile } from '../../../src/storage/sqlite/file.ts';
import { driverOf, kyselyOver } from '../../../src/storage/sqlite/kysely.ts';
import { openSqlite } from '../../../src/storage/sqlite/store.ts';

test('no statement can attach another file, and a vacuum still works', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'authorizer-'));
  const path = join(folder, 'service.db');
  const storage = await openSqlite(path, systemClock);
  // Past the store, in whose transactions neither would run.
  const db = kyselyOver(
    driverOf(new SqliteConnection(() => openFile(path, systemClock), systemClock)),
  );
  const other = join(folder, 'other.db');
  const refused = { cause: { message: expect.stringContaining('authoriz') } };
  const attach = sql`attach database ${sql.lit(other)} as other`;
  await expect(attach.execute(db)).rejects.toMatchObject(refused);
  const copy = sql`vacuum into ${sql.lit(other)}`;
  await expect(copy.execute(db)).rejects.toMatchObject(refused);
  await db.destroy();
  expect(existsSync(other)).toBe(false);
  expect(await storage.scrub()).toBe('clean');
  await storage.close();
  rmSync(folder, { recursive: true });
});
