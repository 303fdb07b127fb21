/** Whole copies of a PostgreSQL database by its own programs: of our tables, whatever else is beside them. */
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { StorageUnavailable } from '../database.ts';
import { isNewer, refuseNewer } from '../migrate.ts';
import { tables } from '../tables.ts';
import { APPLICATION_NAME, driverAddress } from './address.ts';
import { ownSchema } from './own-schema.ts';
import { runProgram } from './programs.ts';

const CONNECT_TIMEOUT_MS = 2_000;

/** One snapshot, in PostgreSQL's own compressed format. */
export async function copyTo(file: string, url: string): Promise<void> {
  // pg_dump would make it for everybody, and writes to one that is there.
  closeSync(openSync(file, 'wx', 0o600));
  const schema = await asking(url, async (client) => {
    await refusePooler(client);
    return await schemaOf(client);
  });
  if (schema === undefined) throw new StorageUnavailable('There is nothing of this program yet.');
  const options = ['--format=custom', '--no-owner', '--no-privileges', `--file=${file}`];
  // Neither somebody else's tables nor an administrator's extensions, which nobody else could restore.
  const ours = tables.map((table) => `--table=${pg.escapeIdentifier(schema)}.${table}`);
  await runProgram('pg_dump', [...options, ...ours], url);
}

/** All of it, and the list of its migrations. */
export async function examineCopy(file: string): Promise<void> {
  await runProgram('pg_restore', ['--file=/dev/null', file]);
  const table = ['--data-only', '--table=kysely_migration', '--file=-', file];
  const [, copied] = (await runProgram('pg_restore', table)).split(/^COPY .*\n/m);
  const [rows, end] = copied?.split(/^\\\.$/m) ?? [];
  if (rows === undefined || end === undefined) {
    throw new StorageUnavailable('The file is no dump of a database of this program.');
  }
  const names = rows.split('\n').filter((row) => row !== '');
  refuseNewer(names.map((row) => row.replace(/\t.*/, '')));
}

/** In one transaction; tables that are ours and not in the copy, of a later version, go in a second one. */
export async function restoreFrom(file: string, url: string): Promise<void> {
  await asking(url, async (client) => {
    await refusePooler(client);
    await refuseRunning(client);
    await refuseUnknownTables(client);
  });
  const contents = await runProgram('pg_restore', ['--list', file]);
  await restoreListed(file, withoutExtensions(contents), url);
  const copied = contents.split('\n').filter((line) => line.includes(' TABLE '));
  const left = tables.filter((table) => !copied.some((line) => line.includes(` ${table} `)));
  await asking(url, async (client) => {
    const schema = await schemaOf(client);
    if (schema === undefined || left.length === 0) return;
    const qualified = left.map((table) => `${pg.escapeIdentifier(schema)}.${table}`);
    await client.query(`drop table if exists ${qualified.join(', ')}`);
  });
}

const schemaOf = (client: pg.Client) => ownSchema((statement) => client.query(statement));

/** Of a copy of the whole database: only an administrator could make them, and they are there. */
function withoutExtensions(contents: string): string {
  const lines = contents.split('\n').filter((line) => !line.includes(' EXTENSION '));
  return lines.join('\n');
}

async function restoreListed(file: string, contents: string, url: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'restore-'));
  try {
    const list = join(folder, 'contents');
    writeFileSync(list, contents);
    const options = ['--clean', '--if-exists', '--single-transaction', '--exit-on-error'];
    const whose = ['--no-owner', '--no-privileges'];
    await runProgram('pg_restore', [...options, ...whose, `--use-list=${list}`, file], url);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Runs this over one connection of its own. */
async function asking<T>(url: string, ask: (client: pg.Client) => Promise<T>): Promise<T> {
  const timeout = { connectionTimeoutMillis: CONNECT_TIMEOUT_MS };
  const client = new pg.Client({ connectionString: driverAddress(url), ...timeout });
  try {
    await client.connect();
    return await ask(client);
  } catch (error) {
    if (error instanceof StorageUnavailable) throw error;
    throw new StorageUnavailable('PostgreSQL could not be asked.', { cause: error });
  } finally {
    await client.end().catch(() => {});
  }
}

/**
 * A pooler lends a session to others in between, and what pg_dump sets for itself stays there: the service then
 * finds no table of its own. A pooler answers with a number of its own where the server says its process.
 */
async function refusePooler(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  if ((client as { processID?: number }).processID === rows[0]?.pid) return;
  throw new StorageUnavailable(
    'DATABASE_URL leads to a pooler, whose sessions a copy would leave unusable: give PostgreSQL’s own address.',
  );
}

async function refuseRunning(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ count: string }>(
    'select count(*) from pg_stat_activity where application_name = $1 and datname = current_database()',
    [APPLICATION_NAME],
  );
  if (Number(rows[0]?.count) === 0) return;
  throw new StorageUnavailable(
    'The service is running on this database: stop it first. A pooler keeps its connections for a while: stop that, too.',
  );
}

/** Only a newer version knows which tables it has made, so only that one can take them away. */
async function refuseUnknownTables(client: pg.Client): Promise<void> {
  const schema = await schemaOf(client);
  if (schema === undefined) return;
  const asked = `select name from ${pg.escapeIdentifier(schema)}.kysely_migration`;
  const { rows } = await client.query<{ name: string }>(asked);
  if (!isNewer(rows.map(({ name }) => name))) return;
  throw new StorageUnavailable(
    'The database was written by a newer version of this program: restore with that version, then start this one.',
  );
}
