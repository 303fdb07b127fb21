/** Whole copies of a PostgreSQL database by its own programs, `pg_dump` and `pg_restore`. */
import { execFile } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { promisify } from 'node:util';
import pg from 'pg';
import { StorageUnavailable } from '../database.ts';
import { refuseNewer } from '../migrate.ts';
import { driverAddress } from './address.ts';

const CONNECT_TIMEOUT_MS = 2_000;

const execute = promisify(execFile);

/** One snapshot, in PostgreSQL's own compressed format. */
export async function copyTo(file: string, url: string): Promise<void> {
  // pg_dump would make it for everybody, and writes to one that is there.
  closeSync(openSync(file, 'wx', 0o600));
  const options = ['--format=custom', '--no-owner', '--no-privileges', `--file=${file}`];
  await run('pg_dump', options, url);
}

/** All of it, and the list of its migrations. */
export async function examineCopy(file: string): Promise<void> {
  await run('pg_restore', ['--file=/dev/null', file]);
  const table = ['--data-only', '--table=kysely_migration', '--file=-', file];
  const [, copied] = (await run('pg_restore', table)).split(/^COPY .*\n/m);
  const [rows, end] = copied?.split(/^\\\.$/m) ?? [];
  if (rows === undefined || end === undefined) {
    throw new StorageUnavailable('The file is no dump of a database of this program.');
  }
  const names = rows.split('\n').filter((row) => row !== '');
  refuseNewer(names.map((row) => row.replace(/\t.*/, '')));
}

/** In one transaction. */
export async function restoreFrom(file: string, url: string): Promise<void> {
  await refuseRunning(url);
  const options = ['--clean', '--if-exists', '--single-transaction', '--exit-on-error'];
  await run('pg_restore', [...options, '--no-owner', '--no-privileges', file], url);
}

async function refuseRunning(url: string): Promise<void> {
  const timeout = { connectionTimeoutMillis: CONNECT_TIMEOUT_MS };
  const client = new pg.Client({ connectionString: driverAddress(url), ...timeout });
  let instances: number;
  try {
    await client.connect();
    const { rows } = await client.query<{ count: string }>(
      "select count(*) from pg_stat_activity where application_name = 'lead-intake' and datname = current_database()",
    );
    instances = Number(rows[0]?.count);
  } catch (error) {
    throw new StorageUnavailable('PostgreSQL could not be asked.', { cause: error });
  } finally {
    await client.end().catch(() => {});
  }
  if (instances > 0) {
    throw new StorageUnavailable('The service is running on this database: stop it first.');
  }
}

/** Runs one of PostgreSQL's programs; returns what it wrote. The password is in no argument. */
async function run(program: string, options: string[], url?: string): Promise<string> {
  const address = url === undefined ? undefined : withoutPassword(url);
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

function withoutPassword(url: string): { url: string; password: string } {
  const address = new URL(url);
  const password = address.searchParams.get('password') ?? decodeURIComponent(address.password);
  address.password = '';
  address.searchParams.delete('password');
  return { url: address.href, password };
}
