/** PostgreSQL's own programs, `pg_dump` and `pg_restore`, run as they are found on this machine. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { StorageUnavailable } from '../database.ts';

const execute = promisify(execFile);

/**
 * Takes a program, its options, and the address of the database where it needs one; returns what it wrote. The
 * password is in no argument. Throws `StorageUnavailable` with the program's first line.
 */
export async function runProgram(
  program: 'pg_dump' | 'pg_restore',
  options: string[],
  url?: string,
): Promise<string> {
  const address = url === undefined ? undefined : programAddress(url);
  const argv = address === undefined ? options : [`--dbname=${address.url}`, ...options];
  const env = address?.password ? { PGPASSWORD: address.password } : {};
  try {
    const all = { env: { ...process.env, ...env }, maxBuffer: Number.POSITIVE_INFINITY };
    const running = execute(program, argv, all);
    running.child.stdin?.end(); // without a terminal it would wait there for a password
    return (await running).stdout;
  } catch (error) {
    const { code, stderr } = error as { code?: unknown; stderr: string };
    // Node's own code is a word: the program did not even begin.
    if (typeof code === 'string') {
      throw new StorageUnavailable(
        `${program} is not on this machine: install PostgreSQL's client programs (apt-get install -y postgresql-client).`,
      );
    }
    const said = stderr.replace(/\n.*/s, '').replace(/^\w+: (error: )?/, '');
    throw new StorageUnavailable(`${program} failed: ${said}`);
  }
}

const NOT_FOR_PROGRAMS = /(?<=[?&])(?:password|uselibpqcompat)=[^&]*&?/g;

/** The address without its password, and without the word that is for our driver alone. */
function programAddress(url: string): { url: string; password: string } {
  const address = new URL(url);
  const password = address.searchParams.get('password') ?? decodeURIComponent(address.password);
  address.password = '';
  // By its text: to URLSearchParams a blank is a plus, and to PostgreSQL's programs a plus is a plus.
  address.search = address.search.replaceAll(NOT_FOR_PROGRAMS, '').replace(/[?&]$/, '');
  return { url: address.href, password };
}
