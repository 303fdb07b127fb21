/** Copies the tables of the service in PostgreSQL, with `pg_dump` and `pg_restore`. */
import { execFile } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { StorageUnavailable } from '../database.ts';
import { isUnknown, migrations, refuseSchema, refuseUnknown } from '../migrate.ts';
import { notRestoredTables, tables } from '../schema.ts';
import { APPLICATION_NAME, CONNECT_TIMEOUT_MS, driverAddress } from './connection.ts';
import { ownSchema } from './store.ts';

/** Copies one snapshot in PostgreSQL's own compressed format. */
export async function copyTo(file: string, url: string): Promise<void> {
  // pg_dump would create the file with other permissions, but it accepts an existing file.
  closeSync(openSync(file, 'wx', 0o600));
  const schema = await connected(url, async (client) => {
    await refusePooler(client);
    return await schemaOf(client);
  });
  if (schema === undefined) throw new StorageUnavailable('The database has no tables of this program yet.');
  const options = ['--format=custom', '--no-owner', '--no-privileges', `--file=${file}`];
  // The copy omits tables of other programs, and extensions, which only an administrator can restore.
  const ours = tables.map((table) => `--table=${pg.escapeIdentifier(schema)}.${table}`);
  await runProgram('pg_dump', [...options, ...ours], url);
}

/** Examines a whole copy, its migrations, and objects that act on the tables. */
export async function examineCopy(file: string): Promise<void> {
  await runProgram('pg_restore', ['--file=/dev/null', file]);
  const table = ['--data-only', '--table=kysely_migration', '--file=-', file];
  const [, copied] = (await runProgram('pg_restore', table)).split(/^COPY .*\n/m);
  const [rows, end] = copied?.split(/^\\\.$/m) ?? [];
  if (rows === undefined || end === undefined) {
    throw new StorageUnavailable('The file is not a dump of a database of this program.');
  }
  const applied = [...rows.matchAll(/^[^\t\n]+/gm)].map(String);
  refuseUnknown(applied);
  const isOlder = applied.length < Object.keys(migrations).length;
  refuseForeignTables(await runProgram('pg_restore', ['--list', file]), isOlder);
}

/** An entry of the list for an object that acts on a table or replaces it. */
const ACTS_ON_TABLE = /^\d+; \d+ \d+ (?:TRIGGER|RULE|POLICY|VIEW|MATERIALIZED VIEW|FOREIGN TABLE) \S+ (\S+) /;

/** Refuses a copy with different tables. To compare columns would require a server that runs the copy's migrations. */
function refuseForeignTables(contents: string, isOlder: boolean): void {
  const lines = contents.split('\n');
  for (const line of lines) {
    const table = ACTS_ON_TABLE.exec(line)?.[1];
    if (tables.some((ours) => ours === table)) refuseSchema(`the table ${table} is different`);
  }
  const copied = copiedTables(lines);
  const missing = tables.find((table) => !copied.has(table));
  if (!isOlder && missing !== undefined) refuseSchema(`the table ${missing} is missing`);
}

function copiedTables(lines: readonly string[]): Set<string> {
  const copied = lines.filter((line) => line.includes(' TABLE '));
  return new Set(tables.filter((table) => copied.some((line) => line.includes(` ${table} `))));
}

/** Restores a copy in one transaction. A second transaction drops tables of a later version, which the copy lacks. */
export async function restoreFrom(file: string, url: string): Promise<void> {
  await connected(url, async (client) => {
    await refusePooler(client);
    await refuseInUse(client);
  });
  const lines = (await runProgram('pg_restore', ['--list', file])).split('\n');
  await restoreListed(file, lines.filter((line) => !isLeftOut(line)).join('\n'), url);
  const copied = copiedTables(lines);
  const others = tables.filter((table) => !copied.has(table));
  await connected(url, async (client) => {
    const schema = await schemaOf(client);
    if (schema === undefined || others.length === 0) return;
    const qualified = others.map((table) => `${pg.escapeIdentifier(schema)}.${table}`);
    await client.query(`drop table if exists ${qualified.join(', ')}`);
  });
}

const schemaOf = (client: pg.Client) => ownSchema((statement) => client.query(statement));

/** An entry of the list for an extension or the schema `public`, both of which only an administrator can change. */
const OF_ADMINISTRATOR = / EXTENSION | SCHEMA (?:- )?public /;

/**
 * Returns true for what only an administrator can change, and for sessions, links and connections, which may have ended
 * since the copy.
 */
function isLeftOut(line: string): boolean {
  const isData = line.includes(' TABLE DATA ');
  return OF_ADMINISTRATOR.test(line) || (isData && notRestoredTables.some((table) => line.includes(` ${table} `)));
}

async function restoreListed(file: string, contents: string, url: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'restore-'));
  try {
    const list = join(folder, 'contents');
    writeFileSync(list, contents);
    const options = ['--clean', '--if-exists', '--single-transaction', '--exit-on-error'];
    const owners = ['--no-owner', '--no-privileges'];
    await runProgram('pg_restore', [...options, ...owners, `--use-list=${list}`, file], url);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Runs queries over a new connection. */
async function connected<T>(url: string, run: (client: pg.Client) => Promise<T>): Promise<T> {
  const connectionTimeoutMillis = CONNECT_TIMEOUT_MS;
  const client = new pg.Client({ connectionString: driverAddress(url), connectionTimeoutMillis });
  try {
    await client.connect();
    return await run(client);
  } catch (error) {
    if (error instanceof StorageUnavailable) throw error;
    throw new StorageUnavailable('The request to PostgreSQL failed.', { cause: error });
  } finally {
    await client.end().catch(() => {});
  }
}

/**
 * Refuses a pooler. A pooler shares the session, so settings of pg_dump would stay, and the service would find none of
 * its tables. A pooler returns its own number as the process id at the start of a session.
 */
async function refusePooler(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  if ((client as { processID?: number }).processID === rows[0]?.pid) return;
  throw new StorageUnavailable(
    'DATABASE_URL is the address of a pooler, and a copy would make its sessions unusable. Use the address of PostgreSQL itself.',
  );
}

async function refuseInUse(client: pg.Client): Promise<void> {
  const { rows: sessions } = await client.query(
    'select from pg_stat_activity where application_name = $1 and datname = current_database()',
    [APPLICATION_NAME],
  );
  if (sessions.length > 0) {
    throw new StorageUnavailable(
      'The service is running on this database. Stop the service first. Also stop a pooler, because it holds connections for a while.',
    );
  }
  const schema = await schemaOf(client);
  if (schema === undefined) return;
  const applied = `select name from ${pg.escapeIdentifier(schema)}.kysely_migration`;
  const { rows } = await client.query<{ name: string }>(applied);
  // Only the newer version has the list of its tables, so only that version can drop them.
  if (!isUnknown(rows.map(({ name }) => name))) return;
  throw new StorageUnavailable(
    'The database was written by a newer version of this program. Restore with that version, then start this version.',
  );
}

const execute = promisify(execFile);

/**
 * Runs a program of PostgreSQL and returns its output. The password is in no argument.
 * @throws StorageUnavailable with the first line of the program's error
 */
export async function runProgram(program: 'pg_dump' | 'pg_restore', options: string[], url?: string): Promise<string> {
  const address = url === undefined ? undefined : programAddress(url);
  const argv = address === undefined ? options : [`--dbname=${address.url}`, ...options];
  const env = { ...process.env, ...(address?.password && { PGPASSWORD: address.password }) };
  try {
    const running = execute(program, argv, { env, maxBuffer: Number.POSITIVE_INFINITY });
    running.child.stdin?.end(); // Otherwise the program would wait for a password.
    return (await running).stdout;
  } catch (error) {
    const { code, stderr } = error as { code?: unknown; stderr: string };
    // If the code is a word, it is Node's own, and the program did not start.
    if (typeof code === 'string') {
      throw new StorageUnavailable(
        `${program} is not installed. Install PostgreSQL's client programs (apt-get install -y postgresql-client).`,
      );
    }
    const said = stderr.replace(/\n.*/s, '').replace(/^\w+: (error: )?/, '');
    throw new StorageUnavailable(`${program} failed: ${said}`);
  }
}

const NOT_FOR_PROGRAMS = /(?<=[?&])(?:password|uselibpqcompat)=[^&]*&?/g;

/** Returns the address without its password and without the option of our driver. */
function programAddress(url: string): { url: string; password: string } {
  const address = new URL(url);
  const password = address.searchParams.get('password') ?? decodeURIComponent(address.password);
  address.password = '';
  // URLSearchParams would write a blank as a plus, which PostgreSQL's programs read as a plus.
  address.search = address.search.replaceAll(NOT_FOR_PROGRAMS, '').replace(/[?&]$/, '');
  return { url: address.href, password };
}
