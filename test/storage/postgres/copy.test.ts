/** Dumps of a real PostgreSQL database, and checks of a dump with a script in place of pg_restore. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../../src/platform/clock.ts';
import { type Storage, StorageUnavailable } from '../../../src/storage/database.ts';
import { copyTo, examineCopy, restoreFrom } from '../../../src/storage/postgres/copy.ts';
import { tables } from '../../../src/storage/schema.ts';
import { connectionRow } from '../../oauth/rig.ts';
import { databases, type TestDatabase } from '../../support/databases.ts';
import { temporaryFolder } from '../../support/process.ts';
import { replaceProgram, takeProgramsBack, toldIn } from './replaced-programs.ts';

const RUNNING =
  'The service is running on this database. Stop the service first. Also stop a pooler, because it holds connections for a while.';

let folder: string;
let file: string;

beforeEach(() => {
  folder = temporaryFolder();
  file = join(folder, 'copy.dump');
});
afterEach(() => {
  takeProgramsBack();
  vi.useRealTimers();
});

describe.runIf(databases.length > 1)('copy of a real PostgreSQL database', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    const [, create] = databases[1] ?? expect.fail();
    database = await create();
  });
  afterAll(() => database.remove());

  /** Opens the store, as the service does, while the callback runs. */
  async function running<T>(act: (storage: Storage) => Promise<T>): Promise<T> {
    const storage = await database.open(systemClock);
    try {
      return await act(storage);
    } finally {
      await storage.close();
    }
  }
  const keep = (storage: Storage, id: string) =>
    storage.write((tx) => sql`insert into operator_audit values (${id}, '', 'jo', 'sign_in', '{}')`.execute(tx));
  const kept = async (storage: Storage) => {
    const rows = await storage.read((db) => db.selectFrom('operator_audit').select('id').orderBy('id'));
    return rows.map(({ id }) => id);
  };

  test('is made with mode 0600 while the service runs, and is restored after the service has stopped', async () => {
    await running(async (storage) => {
      await keep(storage, 'e-1');
      await copyTo(file, database.url);
      await keep(storage, 'e-2');
      await expect(restoreFrom(file, database.url)).rejects.toThrow(new StorageUnavailable(RUNNING));
      expect(await kept(storage)).toEqual(['e-1', 'e-2']);
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file).subarray(0, 5).toString()).toBe('PGDMP');
    await examineCopy(file);
    await restoreFrom(file, database.url);
    expect(await running(kept)).toEqual(['e-1']);
  });

  test('is made of a database of a newer version, and is rejected on examination', async () => {
    await running(async (storage) => {
      await storage.write((tx) => sql`insert into kysely_migration values ('9999-future', '')`.execute(tx));
      await copyTo(file, database.url);
      await storage.write((tx) => sql`delete from kysely_migration where name like '9999%'`.execute(tx));
    });
    await expect(examineCopy(file)).rejects.toThrow(/written by a newer version/);
  });

  test('loses sessions, links and connections of hosts on a restore, and retains the audit', async () => {
    const signIn = (storage: Storage) =>
      storage.write(async (tx) => {
        await sql`insert into operator_sessions values ('d', 'jo', 0, '', '', null, null)`.execute(tx);
        await sql`insert into operator_links values ('d', 'jo', 0, null, null, '', '9', null)`.execute(tx);
        await sql`insert into operator_audit values ('a', '', 'jo', 'sign_in', '{}')`.execute(tx);
        await tx.insertInto('oauth_connections').values(connectionRow()).execute();
        await sql`insert into oauth_access_tokens values ('d', 'c', '', '9')`.execute(tx);
      });
    await running(signIn);
    await copyTo(file, database.url);
    await restoreFrom(file, database.url);
    const left = await running((storage) =>
      storage.write(async (tx) => [
        await tx.selectFrom('operator_sessions').selectAll().execute(),
        await tx.selectFrom('operator_links').selectAll().execute(),
        await tx.selectFrom('oauth_connections').selectAll().execute(),
        await tx.selectFrom('oauth_access_tokens').selectAll().execute(),
        await tx.selectFrom('operator_audit').select('id').where('id', '=', 'a').execute(),
      ]),
    );
    expect(left).toEqual([[], [], [], [], [{ id: 'a' }]]);
  });

  test.each([
    [
      'table submissions is different',
      `create function evil() returns trigger language plpgsql as 'begin return null; end';
       create trigger evil before insert on submissions for each row execute function evil()`,
      'drop trigger evil on submissions; drop function evil',
    ],
    [
      'table messages is different',
      'create rule evil as on insert to messages do instead nothing',
      'drop rule evil on messages',
    ],
    [
      'table operator_audit is different',
      'alter table operator_audit rename to kept; create view operator_audit as select * from kept',
      'drop view operator_audit; alter table kept rename to operator_audit',
    ],
    [
      'table mailbox_key is missing',
      'alter table mailbox_key rename to kept',
      'alter table kept rename to mailbox_key',
    ],
  ])('is rejected if its %s', async (what, change, back) => {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query(change);
    await copyTo(file, database.url);
    await client.query(back);
    await client.end();
    await expect(examineCopy(file)).rejects.toThrow(
      `The schema of the database differs from that of this version: the ${what} (`,
    );
  });

  test('leaves the database unchanged if its restore fails halfway', async () => {
    await running((storage) => keep(storage, 'e-3'));
    await copyTo(file, database.url);
    // The restore drops the tables and then reaches one that a foreign view uses.
    await running((storage) => storage.write((tx) => sql`create view blocking as select * from messages`.execute(tx)));
    await expect(restoreFrom(file, database.url)).rejects.toThrow(
      /^pg_restore failed: could not execute query: .*cannot drop table/,
    );
    expect(await running(kept)).toContain('e-3');
  });
});

test('copyTo throws EEXIST and leaves an existing file as is', async () => {
  writeFileSync(file, 'precious');
  await expect(copyTo(file, 'postgres://nobody@127.0.0.1:1/x')).rejects.toThrow('EEXIST');
  expect(readFileSync(file, 'utf8')).toBe('precious');
});

test('examineCopy reports a file that is no dump without the file name of the program', async () => {
  writeFileSync(file, 'no dump');
  await expect(examineCopy(file)).rejects.toThrow(/^pg_restore failed: input file /);
});

describe('restoreFrom, server that does not answer', () => {
  test('throws StorageUnavailable if the connection is refused', async () => {
    const asked = await restoreFrom(file, 'postgres://nobody@127.0.0.1:1/x').catch((e) => e);
    expect(asked).toBeInstanceOf(StorageUnavailable);
    expect(asked).toMatchObject({
      message: 'The request to PostgreSQL failed.',
      cause: { code: 'ECONNREFUSED' },
    });
  });

  test('throws StorageUnavailable after two seconds of silence', async () => {
    const silent: Server = createServer((socket) => void socket.on('error', () => {}));
    const connected = new Promise((resolve) => silent.once('connection', resolve));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as { port: number };
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const asking = restoreFrom(file, `postgres://nobody@127.0.0.1:${port}/x`).catch((e) => e);
    await connected;
    vi.advanceTimersByTime(2_000);
    expect(await asking).toMatchObject({ message: 'The request to PostgreSQL failed.' });
    vi.useRealTimers();
    silent.close();
  });
});

describe('examineCopy, output of pg_restore', () => {
  const replace = (program: string, script: string) => replaceProgram(folder, program, script);
  const told = () => toldIn(folder);

  const known = '0001-schema\t2026';
  const listed = tables.map((table) => `1; 1 1 TABLE public ${table} service`).join('\n');
  const newer = /written by a newer version/;
  const foreign = 'The file is not a dump of a database of this program.';
  test.each<[string, string, RegExp | string | undefined]>([
    ['a list of known migrations', `--\nCOPY public.kysely_migration (a) FROM stdin;\n${known}\n\\.\n`, undefined],
    ['an empty list', 'COPY public.kysely_migration (a) FROM stdin;\n\\.\n', undefined],
    ['a newer migration', `COPY x;\n${known}\n9999-future\t2026\n\\.\n`, newer],
    ['a migration without a time', 'COPY x;\n9999-future\n\\.\n', /by a version before 1\.0/],
    ['no list', '-- nothing\n', foreign],
    ['a list without its end', `COPY x;\n${known}\n`, foreign],
    ['a list whose end mark is not on its own line', `COPY x;\n${known}\\.\n`, foreign],
    ['a list whose end mark has a suffix', `COPY x;\n${known}\n\\.x\n`, foreign],
    ['a COPY line with a leading blank', ` COPY x;\n${known}\n\\.\n`, foreign],
    ['a list after two megabytes of comments', `${'-- words\n'.repeat(250_000)}COPY x;\n\\.\n`, undefined],
  ])('accepts only complete lists of known migrations: %s', async (_what, output, refusal) => {
    writeFileSync(join(folder, 'output'), output);
    replace(
      'pg_restore',
      `printf '%s\\n' "$*" >> ${join(folder, 'told')}
       case "$*" in *--file=-*) cat ${join(folder, 'output')};; *--list*) echo '${listed}';; esac`,
    );
    const examining = examineCopy(file);
    if (refusal === undefined) await examining;
    else await expect(examining).rejects.toThrow(refusal);
    expect(told()).toEqual([
      `--file=/dev/null ${file}`,
      `--data-only --table=kysely_migration --file=- ${file}`,
      ...(refusal === undefined ? [`--list ${file}`] : []),
    ]);
  });
});
