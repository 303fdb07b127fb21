/** Files that the service reads as a whole: a setting may name anything. */
import { execFileSync } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { NoFile, otherThanFile, readPlainFile, readPlainFileLater } from '../../src/storage/files.ts';
import { temporaryFolder } from '../support/process.ts';

const folder = temporaryFolder();
const path = (name: string) => join(folder, name);
writeFileSync(path('file'), 'größer');
symlinkSync(path('file'), path('link'));
symlinkSync(folder, path('folder'));
execFileSync('mkfifo', [path('pipe')]);

test.each(['file', 'link'])('the %s is read as UTF-8', async (name) => {
  expect(otherThanFile(path(name))).toBeUndefined();
  expect([readPlainFile(path(name)), await readPlainFileLater(path(name))]).toEqual(['größer', 'größer']);
});

test.each([
  [path('folder'), 'a folder'],
  [path('pipe'), 'a named pipe'],
  ['/dev/null', 'a device or a socket'],
])('%s is refused as %s, and not read', async (refused, kind) => {
  expect(otherThanFile(refused)).toBe(kind);
  const error = { name: 'NoFile', code: kind, message: `It is ${kind}, not a file.` };
  await expect(readPlainFileLater(refused)).rejects.toMatchObject(error);
  expect(() => readPlainFile(refused)).toThrow(expect.objectContaining(error));
  expect(() => readPlainFile(refused)).toThrow(NoFile);
});

test('a missing file is reported by the code of the file system', async () => {
  const missing = expect.objectContaining({ code: 'ENOENT' });
  for (const read of [otherThanFile, readPlainFile]) expect(() => read(path('missing'))).toThrow(missing);
  await expect(readPlainFileLater(path('missing'))).rejects.toEqual(missing);
});
