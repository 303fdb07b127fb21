/** `npm run backup`: the database as one file, made while the service runs. */
import { existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Settings } from '../settings/settings.ts';
import { StorageUnavailable } from '../storage/database.ts';
import { copySqlite, examineSqlite } from '../storage/sqlite/copy.ts';
import type { Call, Command } from './command.ts';
import { runCommand } from './command-line.ts';
import { loadSettings } from './configuration.ts';
import { ExitFault } from './faults.ts';

const command: Command = {
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
      options: {},
      run: backup,
    },
  },
};

/** Takes the arguments after the command's name. */
export function run(argv: readonly string[]): Promise<number> {
  return runCommand(command, argv);
}

async function backup({ operand, terminal }: Call): Promise<void> {
  const file = resolve(operand('file'));
  const { settings } = loadSettings();
  if (existsSync(file)) throw new ExitFault(`There is a file at ${file}: give another name.`);
  // It has its name only once it is whole.
  const partial = `${file}.partial`;
  rmSync(partial, { force: true });
  try {
    await copyDatabase(settings, partial);
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

async function copyDatabase({ database }: Settings, file: string): Promise<void> {
  if (database.kind === 'postgres') {
    const { dumpPostgres, examineDump } = await import('../storage/postgres/copy.ts');
    await dumpPostgres(database.url, file);
    return await examineDump(file);
  }
  if (!existsSync(database.path)) {
    throw new ExitFault(`There is no database yet at ${database.path}: \`npm start\` makes it.`);
  }
  copySqlite(database.path, file);
  examineSqlite(file);
}

function asSentence(error: unknown): ExitFault {
  if (error instanceof ExitFault) return error;
  if (error instanceof StorageUnavailable) return new ExitFault(error.message);
  const { code } = error as NodeJS.ErrnoException;
  const remedy = 'does the folder exist, may it be written, is there room?';
  return new ExitFault(`The backup could not be written (${code ?? 'unknown error'}): ${remedy}`);
}
