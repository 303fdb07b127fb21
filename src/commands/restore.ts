/** `npm run restore`: replaces the database by a backup (reference §13.9). */
import { closeSync, openSync, readSync } from 'node:fs';
import { resolve } from 'node:path';
import { bounds } from '../forms/bounds.ts';
import type { Settings } from '../settings/settings.ts';
import { copiesOf } from '../storage/open.ts';
import { ExitFault } from './command-errors.ts';
import { type Call, runnerOf } from './command-line.ts';
import { loadSettings, placeOf } from './open-store.ts';

export const run = runnerOf({
  invocation: 'npm run restore --',
  description: 'Replaces everything in the database with a backup. Stop every instance first.',
  examples: [
    'npm run restore -- backups/2026-12-01.db',
    'npm run --silent restore -- backups/2026-12-01.dump --yes --json',
  ],
  subcommands: {
    '': {
      description: 'Check the backup, ask for confirmation, and replace everything or nothing',
      operands: ['file'],
      options: { '--yes': 'no confirmation prompt' },
      run: restore,
    },
  },
});

/** A preview that was executed after the backup could be executed again (reference §19.9). */
const AFTERWARDS = `All later data is gone, and every operator is signed out. To submit nothing twice, start the service ${bounds.previewLifetimeMinutes} minutes after it was stopped, or with a new signing key only (docs/operations.md, "Backup and restore").`;

async function restore({ operand, flag, terminal }: Call): Promise<void> {
  const file = resolve(operand('file'));
  const { database } = loadSettings().settings;
  const kind = kindOf(file);
  if (kind !== database.kind) {
    const names = { sqlite: 'SQLite', postgres: 'PostgreSQL' };
    throw new ExitFault(
      kind === undefined
        ? 'The file is not a backup of SQLite or PostgreSQL.'
        : `The backup is from ${names[kind]}, but DATABASE_URL is for ${names[database.kind]}.`,
    );
  }
  const { examineCopy, restoreFrom } = await copiesOf(kind);
  await examineCopy(file);
  const target = database.kind === 'sqlite' ? database.path : 'the PostgreSQL database';
  if (!(await terminal.confirm(`Replace everything in ${target} with this backup?`, flag('yes')))) {
    throw new ExitFault('Nothing was replaced.');
  }
  await restoreFrom(file, placeOf(database));
  if (terminal.json) terminal.print(JSON.stringify({ restored: file }));
  terminal.say(`The database was restored. ${AFTERWARDS}`);
}

/** Returns the kind of database from the first bytes of a backup. Returns undefined if the file is no backup. */
function kindOf(file: string): Settings['database']['kind'] | undefined {
  const start = Buffer.alloc(16);
  try {
    const descriptor = openSync(file, 'r');
    readSync(descriptor, start);
    closeSync(descriptor);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ExitFault(`The backup can’t be read (${code ?? 'unknown error'}).`);
  }
  if (start.toString('latin1') === 'SQLite format 3\0') return 'sqlite';
  return start.toString('latin1').startsWith('PGDMP') ? 'postgres' : undefined;
}
