/** Arguments and environment of PostgreSQL's programs, recorded by scripts with the same names. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { StorageUnavailable } from '../../../src/storage/database.ts';
import { runProgram } from '../../../src/storage/postgres/copy.ts';
import { temporaryFolder } from '../../support/process.ts';
import { replaceProgram, takeProgramsBack, toldIn } from './replaced-programs.ts';

const OPTIONS = ['--format=custom', '--file=x'];

let folder: string;

beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => {
  takeProgramsBack();
});

describe('runProgram', () => {
  const replace = (program: string, script: string) => replaceProgram(folder, program, script);
  const told = () => toldIn(folder);

  test.each([
    ['before the host', 'postgres://me:p%40ss@db.example:6543/x?sslmode=require'],
    ['among the options', 'postgres://me@db.example:6543/x?password=p%40ss&sslmode=require'],
    ['beside a parameter of our driver', 'postgres://me:p%40ss@db.example:6543/x?uselibpqcompat=true&sslmode=require'],
  ])('passes a password %s in the environment, never as an argument', async (_where, url) => {
    replace('pg_dump', `printf '%s\\n' "$PGPASSWORD" "$@" > ${join(folder, 'told')}`);
    await runProgram('pg_dump', OPTIONS, url);
    expect(told()).toEqual(['p@ss', '--dbname=postgres://me@db.example:6543/x?sslmode=require', ...OPTIONS]);
  });

  test('passes the rest of the address unchanged', async () => {
    replace('pg_dump', `printf '%s\\n' "$@" > ${join(folder, 'told')}`);
    const rest = 'options=-c%20search_path%3Dservice&application_name=a+b';
    await runProgram('pg_dump', OPTIONS, `postgres://me@db.example/x?password=s&${rest}`);
    expect(told()[0]).toBe(`--dbname=postgres://me@db.example/x?${rest}`);
    await runProgram('pg_dump', OPTIONS, 'postgres://me@db.example/x?password=s');
    expect(told()[0]).toBe('--dbname=postgres://me@db.example/x');
  });

  test('keeps PGPASSWORD and the rest of the environment if the address has no password', async () => {
    process.env.PGPASSWORD = 'of the environment';
    replace('pg_dump', `printf '%s\\n' "$PGPASSWORD" "$HOME" > ${join(folder, 'told')}`);
    await runProgram('pg_dump', OPTIONS, 'postgres://me@db.example/x');
    delete process.env.PGPASSWORD;
    expect(told()).toEqual(['of the environment', process.env.HOME]);
  });

  test('closes the program’s standard input', async () => {
    replace('pg_dump', `cat > ${join(folder, 'told')}`);
    await runProgram('pg_dump', OPTIONS, 'postgres://me@db.example/x');
    expect(told()).toEqual(['']);
  });

  test('names a missing program and how to install it', async () => {
    process.env.PATH = folder;
    const missing = (name: string) =>
      new StorageUnavailable(
        `${name} is not installed. Install PostgreSQL's client programs (apt-get install -y postgresql-client).`,
      );
    for (const program of ['pg_dump', 'pg_restore'] as const) {
      await expect(runProgram(program, OPTIONS)).rejects.toThrow(missing(program));
    }
  });

  test.each([
    ['pg_dump: error: no such role\nmore\nand more', 'no such role'],
    ['pg_dump: no such role', 'no such role'],
    ['no such role: pg_dump: error: x', 'no such role: pg_dump: error: x'],
    ['', ''],
  ])('reports the first line of %j if the program fails', async (said, sentence) => {
    writeFileSync(join(folder, 'said'), said);
    replace('pg_dump', `cat ${join(folder, 'said')} >&2; exit 3`);
    await expect(runProgram('pg_dump', OPTIONS)).rejects.toMatchObject({
      name: 'StorageUnavailable',
      message: `pg_dump failed: ${sentence}`,
    });
  });
});
