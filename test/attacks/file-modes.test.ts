/**
 * Only the owner can read files that the service or a command creates, under any umask. For the files of a start, see
 * test/platform/process.test.ts and test/start/first-run.test.ts.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { openSqlite } from '../../src/storage/sqlite/store.ts';
import { temporaryFolder } from '../commands/run-service.ts';
import { project } from '../support/program.ts';

/** Runs a command under umask 000. */
function run(dataDir: string, ...args: string[]) {
  const entry = join(project, 'bin/service.js');
  const command = ['umask 000; exec "$@"', 'sh', process.execPath, entry, ...args];
  return spawnSync('sh', ['-c', ...command], {
    cwd: temporaryFolder(),
    env: { PATH: process.env.PATH ?? '', DATA_DIR: dataDir },
    encoding: 'utf8',
  });
}

const modesIn = (folder: string) =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => [name, (statSync(join(parentPath, name)).mode & 0o777).toString(8)]),
  );

const onlyOwner = (modes: Record<string, string>) => Object.entries(modes).filter(([, mode]) => mode !== '600');

test('file modes: every command creates its files for the owner only, under umask 000', async () => {
  const folder = join(temporaryFolder(), 'data');
  mkdirSync(folder, { mode: 0o700 });
  const before = process.umask(0);
  const storage = await openSqlite(join(folder, 'service.db'), systemClock);
  process.umask(before);
  await storage.close();
  expect(onlyOwner(modesIn(folder))).toEqual([]);

  for (const args of [
    ['credentials', 'issue', 'acme'],
    ['credentials', 'rotate', 'acme'],
    ['inbox', 'list'],
    ['erase', 'ada@example.com', '--yes'],
    ['backup', join(folder, 'copy.backup')],
    ['restore', join(folder, 'copy.backup'), '--yes'],
    ['doctor', '--no-send'],
  ]) {
    const ran = run(folder, ...args);
    expect([args[0], ran.status, ran.stderr]).toEqual([args[0], 0, expect.any(String)]);
    expect([args[0], onlyOwner(modesIn(folder))]).toEqual([args[0], []]);
  }
  expect(Object.keys(modesIn(folder))).toEqual(expect.arrayContaining(['agents.json', 'copy.backup', 'service.db']));
});

test('file modes: the log beside an open database is readable for the owner only', async () => {
  const folder = temporaryFolder();
  const before = process.umask(0);
  try {
    const storage = await openSqlite(join(folder, 'service.db'), systemClock);
    const modes = modesIn(folder);
    await storage.close();
    expect(Object.keys(modes).sort()).toEqual(['service.db', 'service.db-shm', 'service.db-wal']);
    expect(onlyOwner(modes)).toEqual([]);
  } finally {
    process.umask(before);
  }
});

test('file modes: an edit of a credentials file that others can read and write makes it owner-only', () => {
  const folder = temporaryFolder();
  const path = join(folder, 'agents.json');
  writeFileSync(path, '{"clients":[]}');
  chmodSync(path, 0o666);
  expect(run(folder, 'credentials', 'issue', 'acme').status).toBe(0);
  expect(onlyOwner(modesIn(folder))).toEqual([]);
});
