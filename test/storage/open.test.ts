/** Opening the store that the settings name, its folder, and whole copies of it. */
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { openLog } from '../../src/platform/log.ts';
import { readSettings, type Settings } from '../../src/settings/settings.ts';
import type { Storage } from '../../src/storage/database.ts';
import { makeFolder } from '../../src/storage/files.ts';
import { copiesOf, openReader, openStorage } from '../../src/storage/open.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { temporaryFolder } from '../support/process.ts';
import { keepRows, submissionRow } from '../support/submissions.ts';

const created: TestDatabase[] = [];
afterAll(async () => {
  for (const database of created) await database.remove();
});

function settingsOf(url: string): Settings {
  const read = readSettings({ DATABASE_URL: url });
  if (read.kind === 'invalid') throw new Error(read.faults.join());
  return read.settings;
}

const open = (url: string): Promise<Storage> => openStorage(settingsOf(url), systemClock);

/** Expects that the reader of the same settings sees a commit of the store, and that only SQLite's is a thread. */
async function readsInOrder(url: string, storage: Storage): Promise<void> {
  const started = vi.fn();
  process.on('worker', started);
  const reader = await openReader(settingsOf(url), storage, systemClock, openLog('silent'));
  await keepRows(storage, [submissionRow()]);
  expect(await reader.read((db) => db.selectFrom('submissions').select('id'))).toHaveLength(1);
  await reader.close();
  process.off('worker', started);
  expect(started).toHaveBeenCalledTimes(storage.kind === 'sqlite' ? 1 : 0);
}

describe.each(databases)('openStorage with %s', (name, create) => {
  test('opens the database of DATABASE_URL, and copies it in the format of SQLite or of pg_dump', async () => {
    const database = await create();
    created.push(database);
    const storage = await open(database.url);
    expect(storage.kind).toBe(name === 'SQLite' ? 'sqlite' : 'postgres');
    await storage.check();
    await readsInOrder(database.url, storage);
    await storage.close();

    const file = join(temporaryFolder(), 'copy');
    const { copyTo, examineCopy } = await copiesOf(storage.kind);
    await copyTo(file, database.url.replace('sqlite:', ''));
    await examineCopy(file);
    const begin = name === 'SQLite' ? 'SQLite format 3' : 'PGDMP';
    expect(readFileSync(file, 'latin1').startsWith(begin)).toBe(true);
  });
});

describe('folder of a database file', () => {
  const modeOf = (path: string) => statSync(path).mode & 0o777;

  test('creates missing folders with mode 0700 and leaves an existing one as is', async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'shared'), { mode: 0o755 });
    const path = join(folder, 'shared', 'new', 'data', 'service.db');
    for (let times = 1; times <= 2; times += 1) await (await open(`sqlite:${path}`)).close();
    expect(modeOf(path)).toBe(0o600);
    expect(modeOf(join(folder, 'shared'))).toBe(0o755);
    for (const made of ['new', 'new/data']) expect(modeOf(join(folder, 'shared', made))).toBe(0o700);
  });

  test.each([
    ['below /proc, where Node’s recursive mkdir never returns', () => '/proc/new/data', 'ENOENT'],
    [
      'below a file',
      () => {
        const file = join(temporaryFolder(), 'file');
        writeFileSync(file, '');
        return join(file, 'data');
      },
      'ENOTDIR',
    ],
  ])(
    'throws StorageUnavailable with the path and the code if the folder can’t be made (%s)',
    async (_, where, code) => {
      const folder = where();
      await expect(open(`sqlite:${folder}/service.db`)).rejects.toMatchObject({
        name: 'StorageUnavailable',
        message: `The folder ${folder} can’t be created (${code}).`,
        cause: { code },
      });
      expect(() => makeFolder(folder)).toThrow(code);
    },
  );
});
