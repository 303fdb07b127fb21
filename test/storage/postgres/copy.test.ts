/** Dumps of a real PostgreSQL database; and what is read in them, by a program that takes the name of PostgreSQL's. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { type Storage, StorageUnavailable } from '../../../src/storage/database.ts';
import { copyTo, examineCopy, restoreFrom } from '../../../src/storage/postgres/copy.ts';
import { databases, type TestDatabase } from '../../support/databases.ts';
import { temporaryFolder } from '../../support/process.ts';
import { replaceProgram, takeProgramsBack, toldIn } from './replaced-programs.ts';

const RUNNING =
  'The service is running on this database: stop it first. A pooler keeps its connections for a while: stop that, too.';

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

describe.runIf(databases.length > 1)('a real database', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    const [, create] = databases[1] ?? expect.fail();
    database = await create();
  });
  afterAll(() => database.remove());

  /** Opens the store, as the service does, for as long as something is done with it. */
  async function running<T>(act: (storage: Storage) => Promise<T>): Promise<T> {
    const storage = await database.open(systemClock);
    try {
      return await act(storage);
    } finally {
      await storage.close();
    }
  }
  const keep = (storage: Storage, id: string) =>
    storage.write((tx) =>
      sql`insert into inbox values (${id}, 'lead.created', 'contact', 'a@b.example', '', '{}')`.execute(
        tx,
      ),
    );
  const kept = async (storage: Storage) => {
    const rows = await storage.read((db) =>
      db.selectFrom('inbox').select('event_id').orderBy('event_id'),
    );
    return rows.map(({ event_id }) => event_id);
  };

  test('is copied beside the service, for the owner alone, and restored without anything else', async () => {
    await running(async (storage) => {
      await keep(storage, 'e-1');
      await copyTo(file, database.url);
      await keep(storage, 'e-2');
      await expect(restoreFrom(file, database.url)).rejects.toThrow(
        new StorageUnavailable(RUNNING),
      );
      expect(await kept(storage)).toEqual(['e-1', 'e-2']);
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file).subarray(0, 5).toString()).toBe('PGDMP');
    await examineCopy(file);
    await restoreFrom(file, database.url);
    expect(await running(kept)).toEqual(['e-1']);
  });

  test('of a newer version is copied, and refused where the copy is looked at', async () => {
    await running(async (storage) => {
      await storage.write((tx) =>
        sql`insert into kysely_migration values ('9999-future', '')`.execute(tx),
      );
      await copyTo(file, database.url);
      await storage.write((tx) =>
        sql`delete from kysely_migration where name like '9999%'`.execute(tx),
      );
    });
    await expect(examineCopy(file)).rejects.toThrow(/written by a newer version/);
  });

  test('is as it was after a restore that failed half way', async () => {
    await running((storage) => keep(storage, 'e-3'));
    await copyTo(file, database.url);
    // Nothing of ours: the restore drops the tables, and then meets one that it can't drop.
    await running((storage) =>
      storage.write((tx) => sql`create view blocking as select * from outbox`.execute(tx)),
    );
    await expect(restoreFrom(file, database.url)).rejects.toThrow(
      /^pg_restore failed: could not execute query: .*cannot drop table/,
    );
    expect(await running(kept)).toContain('e-3');
  });
});

test('a file that is there is not written over', async () => {
  writeFileSync(file, 'precious');
  await expect(copyTo(file, 'postgres://nobody@127.0.0.1:1/x')).rejects.toThrow('EEXIST');
  expect(readFileSync(file, 'utf8')).toBe('precious');
});

test('a file that is no dump is refused in the words of PostgreSQL, without the name of its program', async () => {
  writeFileSync(file, 'no dump');
  await expect(examineCopy(file)).rejects.toThrow(/^pg_restore failed: input file /);
});

describe('a server', () => {
  test('that is not there can’t be asked whether the service runs', async () => {
    const asked = await restoreFrom(file, 'postgres://nobody@127.0.0.1:1/x').catch((e) => e);
    expect(asked).toBeInstanceOf(StorageUnavailable);
    expect(asked).toMatchObject({
      message: 'PostgreSQL could not be asked.',
      cause: { code: 'ECONNREFUSED' },
    });
  });

  test('that says nothing is waited for two seconds', async () => {
    const silent: Server = createServer((socket) => void socket.on('error', () => {}));
    const connected = new Promise((resolve) => silent.once('connection', resolve));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as { port: number };
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const asking = restoreFrom(file, `postgres://nobody@127.0.0.1:${port}/x`).catch((e) => e);
    await connected;
    vi.advanceTimersByTime(2_000);
    expect(await asking).toMatchObject({ message: 'PostgreSQL could not be asked.' });
    vi.useRealTimers();
    silent.close();
  });
});

describe('what pg_restore tells', () => {
  const replace = (program: string, script: string) => replaceProgram(folder, program, script);
  const told = () => toldIn(folder);

  const known = '0001-executions-inbox-outbox\t2026';
  const newer = /written by a newer version/;
  const foreign = 'The file is no dump of a database of this program.';
  test.each<[string, string, RegExp | string | undefined]>([
    [
      'a list that is known',
      `--\nCOPY public.kysely_migration (a) FROM stdin;\n${known}\n\\.\n`,
      undefined,
    ],
    ['an empty list', 'COPY public.kysely_migration (a) FROM stdin;\n\\.\n', undefined],
    ['a newer name', `COPY x;\n${known}\n9999-future\t2026\n\\.\n`, newer],
    ['a name without a time', 'COPY x;\n9999-future\n\\.\n', newer],
    ['no list', '-- nothing\n', foreign],
    ['a list that breaks off', `COPY x;\n${known}\n`, foreign],
    ['a list that ends inside of a line', `COPY x;\n${known}\\.\n`, foreign],
    ['a list that ends too late', `COPY x;\n${known}\n\\.x\n`, foreign],
    ['what only looks like one', ` COPY x;\n${known}\n\\.\n`, foreign],
    [
      'a list after two megabytes of words',
      `${'-- words\n'.repeat(250_000)}COPY x;\n\\.\n`,
      undefined,
    ],
  ])('%s is read so', async (_what, output, refusal) => {
    writeFileSync(join(folder, 'output'), output);
    replace(
      'pg_restore',
      `printf '%s\\n' "$*" >> ${join(folder, 'told')}
       case "$*" in *--file=-*) cat ${join(folder, 'output')};; esac`,
    );
    const examining = examineCopy(file);
    if (refusal === undefined) await examining;
    else await expect(examining).rejects.toThrow(refusal);
    expect(told()).toEqual([
      `--file=/dev/null ${file}`,
      `--data-only --table=kysely_migration --file=- ${file}`,
    ]);
  });
});
