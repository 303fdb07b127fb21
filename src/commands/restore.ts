/** `npm run restore`: a backup takes the place of everything in the database. */
import { closeSync, openSync, readSync } from 'node:fs';
import { resolve } from 'node:path';
import { bounds } from '../forms/bounds.ts';
import type { Settings } from '../settings/settings.ts';
import { copiesOf } from '../storage/copies.ts';
import { StorageUnavailable } from '../storage/database.ts';
import type { Call } from './command.ts';
import { runnerOf } from './command-line.ts';
import { loadSettings } from './configuration.ts';
import { ExitFault } from './faults.ts';
import { placeOf } from './storage.ts';

export const run = runnerOf({
  invocation: 'npm run restore --',
  meaning: 'Replaces everything in the database by a backup. Stop every instance first.',
  examples: [
    'npm run restore -- backups/2026-12-01.db',
    'npm run --silent restore -- backups/2026-12-01.dump --yes --json',
  ],
  actions: {
    '': {
      meaning: 'looks at the backup, asks, and replaces; all of it or nothing',
      operands: ['file'],
      options: { yes: { type: 'boolean', meaning: 'do not ask' } },
      run: restore,
    },
  },
});

/** A claim that the backup does not know could be made again, with its preview (spec §8). */
const AFTERWARDS = `What came after the backup is forgotten. So that nothing is submitted twice, start the service ${bounds.previewLifetimeMinutes} minutes after it was stopped, or with a new signing key alone (docs/operations.md, "Backup and restore").`;

async function restore({ operand, flag, terminal }: Call): Promise<void> {
  const file = resolve(operand('file'));
  const { database } = loadSettings().settings;
  const kind = kindOf(file);
  if (kind !== database.kind) {
    const names = { sqlite: 'SQLite', postgres: 'PostgreSQL' };
    throw new ExitFault(
      kind === undefined
        ? 'The file is no backup: neither of SQLite nor of PostgreSQL.'
        : `The backup is of ${names[kind]}, and DATABASE_URL names ${names[database.kind]}.`,
    );
  }
  try {
    const { examineCopy, restoreFrom } = await copiesOf(kind);
    await examineCopy(file);
    const target = database.kind === 'sqlite' ? database.path : 'the PostgreSQL database';
    const question = `Replace everything in ${target} by this backup?`;
    if (!(await terminal.confirm(question, flag('yes')))) {
      throw new ExitFault('Nothing was replaced.');
    }
    await restoreFrom(file, placeOf(database));
  } catch (error) {
    if (error instanceof StorageUnavailable) throw new ExitFault(error.message);
    throw error;
  }
  if (terminal.json) terminal.print(JSON.stringify({ restored: file }));
  terminal.say(`The database is that of the backup. ${AFTERWARDS}`);
}

/** By its first bytes. */
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
