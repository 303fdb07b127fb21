/** Whole copies of a PostgreSQL database by its own programs, `pg_dump` and `pg_restore`. */
import { spawn } from 'node:child_process';
import { chmodSync } from 'node:fs';
import pg from 'pg';
import { StorageUnavailable } from '../database.ts';
import { refuseNewer } from '../migrate.ts';

const CONNECT_TIMEOUT_MS = 2_000;

/** Dumps one snapshot, in PostgreSQL's own compressed format; writers go on. Mode 0600. */
export async function dumpPostgres(url: string, file: string): Promise<void> {
  const mask = process.umask(0o077);
  try {
    const options = ['--format=custom', '--no-owner', '--no-privileges', `--file=${file}`];
    await run('pg_dump', options, url);
    chmodSync(file, 0o600);
  } finally {
    process.umask(mask);
  }
}

/** Reads all of it. Throws where it is damaged, another program's, or newer than we are. */
export async function examineDump(file: string): Promise<void> {
  await run('pg_restore', ['--file=/dev/null', file]);
  const table = ['--data-only', '--table=kysely_migration', '--file=-', file];
  const [, copied] = (await run('pg_restore', table)).split(/^COPY .*\n/m);
  const [rows, end] = copied?.split(/^\\\.$/m) ?? [];
  if (rows === undefined || end === undefined) {
    throw new StorageUnavailable('The file is no dump of a database of this program.');
  }
  const names = rows.split('\n').filter((row) => row !== '');
  refuseNewer(names.map((row) => row.split('\t')[0] ?? ''));
}

/** Replaces everything in one transaction. Throws where an instance is connected. */
export async function restorePostgres(file: string, url: string): Promise<void> {
  await refuseRunning(url);
  const options = ['--clean', '--if-exists', '--single-transaction', '--exit-on-error'];
  await run('pg_restore', [...options, '--no-owner', '--no-privileges', file], url);
}

async function refuseRunning(url: string): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
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
  const child = spawn(program, argv, {
    env: { ...process.env, ...(address?.password ? { PGPASSWORD: address.password } : {}) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let written = '';
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    written += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const status = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject).once('close', resolve);
  }).catch(() => {
    throw new StorageUnavailable(
      `${program} is not on this machine: install PostgreSQL's client programs (apt-get install -y postgresql-client).`,
    );
  });
  if (status === 0) return written;
  const [first = ''] = said.split('\n');
  throw new StorageUnavailable(`${program} failed: ${first.replace(/^\w+: (error: )?/, '')}`);
}

function withoutPassword(url: string): { url: string; password: string } {
  const address = new URL(url);
  const password = address.searchParams.get('password') ?? decodeURIComponent(address.password);
  address.password = '';
  address.searchParams.delete('password');
  return { url: address.href, password };
}
