import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { scrub } from '../../../src/storage/scrub.ts';
import { openSqlite } from '../../../src/storage/sqlite/store.ts';

test('no statement can attach another file, and a vacuum still works', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'authorizer-'));
  const storage = await openSqlite(join(folder, 'service.db'), systemClock);
  const other = join(folder, 'other.db');
  const refused = { cause: { message: expect.stringContaining('authoriz') } };
  const attach = sql`attach database ${sql.lit(other)} as other`;
  await expect(attach.execute(storage.db)).rejects.toMatchObject(refused);
  const copy = sql`vacuum into ${sql.lit(other)}`;
  await expect(copy.execute(storage.db)).rejects.toMatchObject(refused);
  expect(existsSync(other)).toBe(false);
  expect(await scrub(storage)).toBe('clean');
  await storage.close();
  rmSync(folder, { recursive: true });
});
