/** Which store the settings ask for, where it is kept, and how whole copies of it are made. */
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { readSettings } from '../../src/settings/settings.ts';
import { copiesOf } from '../../src/storage/copies.ts';
import type { Storage } from '../../src/storage/database.ts';
import { makeFolder } from '../../src/storage/folder.ts';
import { openStorage } from '../../src/storage/open.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { temporaryFolder } from '../support/process.ts';

const created: TestDatabase[] = [];
afterAll(async () => {
  for (const database of created) await database.remove();
});

async function open(url: string): Promise<Storage> {
  const read = readSettings({ DATABASE_URL: url });
  if (read.kind === 'invalid') throw new Error(read.faults.join());
  return await openStorage(read.settings, systemClock);
}

describe.each(databases)('%s', (name, create) => {
  test('is opened where the settings name it, and copied by what belongs to it', async () => {
    const database = await create();
    created.push(database);
    const storage = await open(database.url);
    expect(storage.kind).toBe(name === 'SQLite' ? 'sqlite' : 'postgres');
    await storage.check();
    await storage.close();

    const file = join(temporaryFolder(), 'copy');
    const { copyTo, examineCopy } = await copiesOf(storage.kind);
    await copyTo(file, database.url.replace('sqlite:', ''));
    await examineCopy(file);
    const begin = name === 'SQLite' ? 'SQLite format 3' : 'PGDMP';
    expect(readFileSync(file, 'latin1').startsWith(begin)).toBe(true);
  });
});

describe('the folder of a database file', () => {
  const modeOf = (path: string) => statSync(path).mode & 0o777;

  test('is made with those above it, for the owner alone; one that is there stays as it is', async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'shared'), { mode: 0o755 });
    const path = join(folder, 'shared', 'new', 'data', 'service.db');
    for (let times = 1; times <= 2; times += 1) await (await open(`sqlite:${path}`)).close();
    expect(modeOf(path)).toBe(0o600);
    expect(modeOf(join(folder, 'shared'))).toBe(0o755);
    for (const made of ['new', 'new/data'])
      expect(modeOf(join(folder, 'shared', made))).toBe(0o700);
  });

  test.each([
    ['below /proc, where Node’s own way never comes back', () => '/proc/new/data', 'ENOENT'],
    [
      'below a file',
      () => {
        const file = join(temporaryFolder(), 'file');
        writeFileSync(file, '');
        return join(file, 'data');
      },
      'ENOTDIR',
    ],
  ])('that can’t be made (%s) makes the store unavailable, and says so', async (_, where, code) => {
    const folder = where();
    await expect(open(`sqlite:${folder}/service.db`)).rejects.toMatchObject({
      name: 'StorageUnavailable',
      message: `The folder ${folder} can’t be made (${code}).`,
      cause: { code },
    });
    expect(() => makeFolder(folder)).toThrow(code);
  });
});
