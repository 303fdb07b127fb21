/** `npm run backup`: the database as one file, made while the service runs. */
import { existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { copiesOf } from '../storage/copies.ts';
import { StorageUnavailable } from '../storage/database.ts';
import type { Call } from './command.ts';
import { runnerOf } from './command-line.ts';
import { loadSettings } from './configuration.ts';
import { ExitFault } from './faults.ts';
import { placeOf, requireDatabase } from './storage.ts';

export const run = runnerOf({
  invocation: 'npm run backup --',
  meaning:
    'Copies the database to a file, while the service runs. It holds everything that was answered before it began, and people’s data: keep it like the database.',
  examples: [
    'npm run backup -- backups/2026-12-01.db',
    'npm run --silent backup -- backups/2026-12-01.dump --json',
  ],
  actions: {
    '': {
      meaning: 'makes the file, mode 0600, and reads it again; never replaces one',
      operands: ['file'],
      run: backup,
    },
  },
});

async function backup({ operand, terminal }: Call): Promise<void> {
  const file = resolve(operand('file'));
  const { database } = loadSettings().settings;
  if (existsSync(file)) throw new ExitFault(`There is a file at ${file}: give another name.`);
  // It has its name only once it is whole.
  const partial = `${file}.partial`;
  rmSync(partial, { force: true });
  try {
    requireDatabase(database);
    const { copyTo, examineCopy } = await copiesOf(database.kind);
    await copyTo(partial, placeOf(database));
    await examineCopy(partial);
    renameSync(partial, file);
  } catch (error) {
    throw asSentence(error);
  } finally {
    rmSync(partial, { force: true });
  }
  const bytes = statSync(file).size;
  if (terminal.json) return terminal.print(JSON.stringify({ file, bytes }));
  terminal.print(file);
  terminal.say(`${bytes} bytes, read again and whole. Try a restore from time to time.`);
}

function asSentence(error: unknown): ExitFault {
  if (error instanceof ExitFault) return error;
  if (error instanceof StorageUnavailable) return new ExitFault(error.message);
  const { code } = error as NodeJS.ErrnoException;
  const remedy = 'does the folder exist, may it be written, is there room?';
  return new ExitFault(`The backup could not be written (${code ?? 'unknown error'}): ${remedy}`);
}
