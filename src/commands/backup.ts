/** `npm run backup`: copies the database to one file while the service runs (reference §13.9). */
import { existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { StorageUnavailable } from '../storage/database.ts';
import { copiesOf } from '../storage/open.ts';
import { ExitFault } from './command-errors.ts';
import { type Call, runnerOf } from './command-line.ts';
import { loadSettings, placeOf, requireDatabase } from './open-store.ts';

export const run = runnerOf({
  invocation: 'npm run backup --',
  description:
    'Copies the database to a file while the service runs. The file has everything that the service answered before the copy began. It contains personal data, so protect the file like the database.',
  examples: ['npm run backup -- backups/2026-12-01.db', 'npm run --silent backup -- backups/2026-12-01.dump --json'],
  subcommands: {
    '': {
      description: 'Create the file with mode 0600 and verify it. An existing file is never replaced.',
      operands: ['file'],
      run: backup,
    },
  },
});

async function backup({ operand, terminal }: Call): Promise<void> {
  const file = resolve(operand('file'));
  const { database } = loadSettings().settings;
  if (existsSync(file)) throw new ExitFault(`There is a file at ${file} already. Choose another name.`);
  requireDatabase(database);
  // The file gets its final name when it is complete.
  const partial = `${file}.partial`;
  rmSync(partial, { force: true });
  try {
    const { copyTo, examineCopy } = await copiesOf(database.kind);
    await copyTo(partial, placeOf(database));
    await examineCopy(partial);
    renameSync(partial, file);
  } catch (error) {
    if (error instanceof StorageUnavailable) throw error;
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new ExitFault(
      `The backup could not be written (${code}). Check that the folder exists, is writable and has enough free space.`,
    );
  } finally {
    rmSync(partial, { force: true });
  }
  const bytes = statSync(file).size;
  if (terminal.json) return terminal.print(JSON.stringify({ file, bytes }));
  terminal.print(file);
  terminal.say(`${bytes} bytes, read back and complete. Test a restore from time to time.`);
}
