import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/platform/clock.ts';
import { driverOf, kyselyOver, SqliteConnection } from '../../../src/storage/sqlite/connection.ts';
import { openFile } from '../../../src/storage/sqlite/file.ts';

test('refuses statements that attach a file or rewrite the SQLite database', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'authorizer-'));
  const path = join(folder, 'service.db');
  // The store is bypassed, because none of these statements runs in a transaction.
  const db = kyselyOver(driverOf(new SqliteConnection(() => openFile(path, systemClock), systemClock)));
  const other = join(folder, 'other.db');
  const refused = { cause: { message: expect.stringContaining('authoriz') } };
  const attach = sql`attach database ${sql.lit(other)} as other`;
  await expect(attach.execute(db)).rejects.toMatchObject(refused);
  const copy = sql`vacuum into ${sql.lit(other)}`;
  await expect(copy.execute(db)).rejects.toMatchObject(refused);
  await expect(sql`vacuum`.execute(db)).rejects.toMatchObject(refused);
  await db.destroy();
  expect(existsSync(other)).toBe(false);
  rmSync(folder, { recursive: true });
});
