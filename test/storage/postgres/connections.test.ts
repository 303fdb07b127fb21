import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { type OpenTransaction, type Storage, StorageUnavailable } from '../../../src/storage/database.ts';
import { openPostgres } from '../../../src/storage/postgres/store.ts';
import { databases, type TestDatabase } from '../../support/databases.ts';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts';
import { until } from '../../support/until.ts';

/** Same value as `QUERY_TIMEOUT_MS` in `src/storage/postgres/store.ts`. */
const QUERY_TIMEOUT_MS = 6_000;

describe.runIf(databases.length > 1)('PostgreSQL connections that fail during a statement', () => {
  let database: TestDatabase;
  let proxy: TcpProxy;
  let storage: Storage;
  let administrator: pg.Client;
  beforeAll(async () => {
    const [, create] = databases[1] ?? expect.fail();
    database = await create();
    administrator = new pg.Client({ connectionString: database.url });
    await administrator.connect();
    const url = new URL(database.url);
    proxy = await startTcpProxy({ host: url.hostname, port: Number(url.port || 5432) });
    url.port = String(proxy.port);
    storage = await openPostgres(url.href);
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  afterAll(async () => {
    await storage.close();
    proxy.close();
    await administrator.end();
    await database.remove();
  });

  const asleep = `from pg_stat_activity where datname = current_database() and query like '%pg_sleep%' and state = 'active' and pid <> pg_backend_pid()`;
  const untilAsleep = () => until(async () => (await administrator.query(`select ${asleep}`)).rowCount === 1);
  const sleeping = { inReading: readAsleep, inWriting: writeAsleep };
  function readAsleep(): Promise<unknown> {
    return storage.read((db) => db.selectNoFrom(sql`pg_sleep(4)`.as('slept')));
  }
  function writeAsleep(): Promise<unknown> {
    return storage.write((tx: OpenTransaction) => sql`select pg_sleep(4)`.execute(tx));
  }

  test.each(['inReading', 'inWriting'] as const)(
    'throws StorageUnavailable if the server ends the connection %s, and reconnects for the next statement',
    async (under) => {
      const statement = sleeping[under]().catch((error: unknown) => error);
      await untilAsleep();
      await administrator.query(`select pg_terminate_backend(pid) ${asleep}`);
      expect(await statement).toBeInstanceOf(StorageUnavailable);
      await storage.check();
    },
  );

  test.each(['inReading', 'inWriting'] as const)(
    'throws StorageUnavailable if an administrator cancels a statement %s',
    async (under) => {
      const statement = sleeping[under]().catch((error: unknown) => error);
      await untilAsleep();
      await administrator.query(`select pg_cancel_backend(pid) ${asleep}`);
      expect(await statement).toBeInstanceOf(StorageUnavailable);
      await storage.check();
    },
  );

  test('rethrows the error if the statement itself fails', async () => {
    const mistaken = storage.read((db) => db.selectNoFrom(sql`1 / 0`.as('never')));
    await expect(mistaken).rejects.toMatchObject({ code: '22012' });
  });

  test('closes a connection whose statement got no answer, and uses another one', async () => {
    const ask = async (number: number) => {
      const [row] = await storage.read((db) => db.selectNoFrom(sql<number>`${number}::integer`.as('number')));
      return row?.number;
    };
    expect(await ask(1)).toBe(1);
    proxy.swallowAnswers = true;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const unanswered = ask(2).catch((error: unknown) => error);
    while (proxy.swallowed === 0) await new Promise((resolve) => setImmediate(resolve));
    vi.advanceTimersByTime(QUERY_TIMEOUT_MS);
    expect(await unanswered).toBeInstanceOf(StorageUnavailable);
    vi.useRealTimers();
    proxy.swallowAnswers = false;
    for (let number = 3; number < 13; number += 1) expect(await ask(number)).toBe(number);
  });
});
