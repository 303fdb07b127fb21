/** A real PostgreSQL as the store: sessions, errors and refusals. */
import { createServer, Socket } from 'node:net';
import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { openLog } from '../../../src/platform/log.ts';
import { type Storage, StorageUnavailable } from '../../../src/storage/database.ts';
import { openPostgres } from '../../../src/storage/postgres/store.ts';
import { databases, type TestDatabase } from '../../support/databases.ts';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts';
import { until } from '../../support/until.ts';

/** Same values as in `src/storage/postgres/store.ts`. */
const CONNECTIONS = 10;
const CONNECT_TIMEOUT_MS = 2_000;
const MIGRATION_LOCK = 7_204_611_083;

describe.runIf(databases.length > 1)('store in PostgreSQL', () => {
  let database: TestDatabase;
  let name: string;
  let administrator: pg.Client;
  let proxy: TcpProxy;
  let url: string;
  let storage: Storage;
  let logged: string[];
  beforeAll(async () => {
    const [, create] = databases[1] ?? expect.fail();
    database = await create();
    const address = new URL(database.url);
    name = address.pathname.slice(1);
    administrator = new pg.Client({ connectionString: database.url });
    await administrator.connect();
    proxy = await startTcpProxy({ host: address.hostname, port: Number(address.port || 5432) });
    address.port = String(proxy.port);
    url = address.href;
    logged = [];
    const log = openLog('info', (line) => logged.push(JSON.parse(line).msg));
    storage = await openPostgres(url, log);
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

  const ask = async <T>(expression: ReturnType<typeof sql<T>>): Promise<T | undefined> => {
    const [row] = await storage.read((db) => db.selectNoFrom(expression.as('value')));
    return row?.value as T | undefined;
  };
  const setting = (of: string) => ask(sql<string>`current_setting(${of})`);
  const connection = () => ask(sql<number>`pg_backend_pid()`);
  const others = `from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`;
  /** Changes the defaults for new sessions of the database, and ends the current ones. */
  const setDatabase = async (...clauses: string[]) => {
    for (const clause of clauses) await administrator.query(`alter database ${name} ${clause}`);
    await administrator.query(`select pg_terminate_backend(pid) ${others}`);
    // Waits until the pool has replaced all ended sessions.
    await until(() => Promise.all(Array.from({ length: CONNECTIONS }, connection)).then(Boolean, () => false));
  };

  test('sets timeouts, durable commits and an application name for every session', async () => {
    expect(storage.kind).toBe('postgres');
    const settings = [
      'statement_timeout',
      'lock_timeout',
      'idle_in_transaction_session_timeout',
      'synchronous_commit',
      'application_name',
    ];
    expect(await Promise.all(settings.map(setting))).toEqual(['5s', '2s', '6s', 'on', 'lead-intake']);
  });

  test('sets up a session once, not for each statement', async () => {
    await connection();
    const sent: string[] = [];
    proxy.onRequest = (bytes) => void sent.push(bytes.toString('latin1'));
    await connection();
    proxy.onRequest = () => {};
    expect(sent.join()).toContain('pg_backend_pid');
    expect(sent.join()).not.toContain('statement_timeout');
  });

  test('closes the connection of the migrations after the start, and all connections on close', async () => {
    const count = async () => (await administrator.query(`select ${others}`)).rowCount ?? 0;
    await connection();
    const before = await count();
    const other = await openPostgres(database.url);
    const openedAt = performance.now();
    await until(async () => (await count()) === before);
    expect(performance.now() - openedAt).toBeLessThan(5_000);
    await other.check();
    expect(await count()).toBe(before + 1);
    // This store has no log for the lost connection.
    await administrator.query(`select pg_terminate_backend(pid) ${others}`);
    await until(() =>
      other.check().then(
        () => true,
        () => false,
      ),
    );
    await until(() => connection().then(Boolean, () => false));
    const closing = await count();
    const closedAt = performance.now();
    await other.close();
    await until(async () => (await count()) < closing);
    // The pool would close an idle connection much later.
    expect(performance.now() - closedAt).toBeLessThan(5_000);
  });

  test('runs ten statements at once, and further statements wait', async () => {
    const sleeping = Array.from({ length: CONNECTIONS + 2 }, () => ask(sql`pg_sleep(0.3)`));
    const asleep = `${others} and query like '%pg_sleep%' and state = 'active'`;
    await until(async () => (await administrator.query(`select ${asleep}`)).rowCount === CONNECTIONS);
    await Promise.all(sleeping);
    const { rowCount } = await administrator.query(`select ${others} and application_name = 'lead-intake'`);
    expect(rowCount).toBe(CONNECTIONS);
  });

  test('enables keep-alive on connections, and logs the loss of an idle connection', async () => {
    const keptAlive = vi.spyOn(Socket.prototype, 'setKeepAlive');
    await connection();
    const before = logged.length;
    await administrator.query(`select pg_terminate_backend(pid) ${others}`);
    await until(() => logged.length > before);
    await until(() => connection().then(Boolean, () => false));
    // The spy also sees the proxy's sockets, which never enable keep-alive.
    expect(keptAlive).toHaveBeenCalledWith(true, 0);
    keptAlive.mockRestore();
    expect(new Set(logged)).toEqual(new Set(['idle database connection lost']));
  });

  test.each([
    ['22012', 'an error of the statement'],
    ['23505', 'an error of the statement'],
    ['42P08', 'an error of the statement'],
    ['0A000', 'an error of the statement'],
    ['54023', 'an unavailable store'],
    ['40001', 'an unavailable store'],
    ['55P03', 'an unavailable store'],
    ['57014', 'an unavailable store'],
    ['57P01', 'a lost connection'],
    ['08006', 'a lost connection'],
    ['25P03', 'a lost connection'],
    ['25006', 'an unavailable store'],
  ])('treats the error %s as %s', async (code, what) => {
    const before = await connection();
    const raised = `do $$ begin raise exception using errcode = '${code}'; end $$`;
    const error = await storage.write((tx) => sql.raw(raised).execute(tx)).catch((refused: unknown) => refused);
    if (what === 'an error of the statement') expect(error).toMatchObject({ code });
    else {
      expect(error).toMatchObject({
        name: 'StorageUnavailable',
        message: 'PostgreSQL could not run a statement.',
        cause: { code },
      });
    }
    const after = await Promise.all(Array.from({ length: CONNECTIONS }, connection));
    expect(after.includes(before)).toBe(what !== 'a lost connection');
  });

  test('check throws StorageUnavailable while the server is read-only', async () => {
    await storage.check();
    await setDatabase('set default_transaction_read_only = on');
    await expect(storage.check()).rejects.toThrow(new StorageUnavailable('PostgreSQL is read-only.'));
    await administrator.query('set default_transaction_read_only = off');
    await setDatabase('reset default_transaction_read_only');
    await storage.check();
  });

  test('rejects a start with synchronous_commit=off', async () => {
    await setDatabase('set synchronous_commit = off');
    await expect(openPostgres(database.url)).rejects.toThrow(
      new StorageUnavailable('PostgreSQL runs with synchronous_commit=off, which can lose confirmed data. Turn it on.'),
    );
    await setDatabase('reset synchronous_commit');
  });

  test('waits at the start for another instance’s migrations, beyond the session’s timeouts', async () => {
    await setDatabase(`set lock_timeout = '20ms'`, `set statement_timeout = '20ms'`);
    await administrator.query('select pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const starting = openPostgres(database.url);
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event = 'advisory'`;
    await until(async () => (await administrator.query(waiting)).rowCount === 1);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await administrator.query('select pg_advisory_unlock($1)', [MIGRATION_LOCK]);
    const started = await starting;
    expect(await started.read((db) => db.selectFrom('operator_audit').selectAll())).toEqual([]);
    await started.close();
    await setDatabase('reset lock_timeout', 'reset statement_timeout');
  });

  test('throws StorageUnavailable if the server stays silent for two seconds at the start', async () => {
    const silent = createServer((socket) => void socket.on('error', () => {}));
    const connected = new Promise((resolve) => silent.once('connection', resolve));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as { port: number };
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const opening = openPostgres(`postgres://nobody@127.0.0.1:${port}/x`).catch((e) => e);
    await connected;
    vi.advanceTimersByTime(CONNECT_TIMEOUT_MS);
    expect(await opening).toBeInstanceOf(StorageUnavailable);
    vi.useRealTimers();
    silent.close();
  });

  describe('scrub', () => {
    test('vacuums every table that has held personal data', async () => {
      expect(await storage.scrub()).toBe('vacuumed');
      const counts = `select relname from pg_stat_user_tables where vacuum_count > 0 order by 1`;
      await until(async () => {
        const { rows } = await administrator.query<{ relname: string }>(counts);
        const names = rows.map(({ relname }) => relname);
        return ['confirmations', 'messages', 'submissions', 'subscribers'].every((table) => names.includes(table));
      });
    });

    test('returns unvacuumed if the connection is lost', async () => {
      proxy.swallowAnswers = true;
      const scrubbing = storage.scrub();
      await until(() => proxy.swallowed > 0);
      proxy.cut();
      proxy.swallowAnswers = false;
      expect(await scrubbing).toBe('unvacuumed');
    });

    test('rethrows the error if its own statement fails', async () => {
      const other = await openPostgres(database.url);
      await administrator.query('alter table messages rename to elsewhere');
      await expect(other.scrub()).rejects.toMatchObject({ code: '42P01' });
      await administrator.query('alter table elsewhere rename to messages');
      await other.close();
    });
  });

  describe('PostgreSQL dialect', () => {
    const now = sql<number>`extract(epoch from clock_timestamp()) * 1000`;

    test('reads the server’s time in milliseconds from both clocks', async () => {
      const { leaseClock, wallClock } = storage.dialect;
      for (const read of [leaseClock, wallClock]) {
        const value = Number(await ask(sql<number>`${read}`));
        expect(Math.abs(value - Date.now())).toBeLessThan(60_000);
      }
      expect(typeof (await ask(sql`${wallClock}`))).toBe('number');
    });

    test.each([
      [-10_000, 9_000, true],
      [-10_000, 11_000, false],
      [1_000, 0, false],
    ])('treats a lease that began %i ms from now and lasts %i ms as expired: %s', async (begun, ms, isOver) => {
      const lease = sql`select ${now} + ${begun}::integer as lease_started_ms, ${ms}::integer as lease_ms`;
      const rows = await storage.read((db) =>
        db
          .selectFrom(sql<Record<never, never>>`(${lease})`.as('lease'))
          .select(storage.dialect.leaseExpired.as('over')),
      );
      expect(rows).toEqual([{ over: isOver }]);
    });

    test('withoutFields empties only the fields of an event', async () => {
      const event = { type: 'lead.created', data: { id: 'e-1', fields: { email: 'a@b.example' } } };
      const rows = await storage.read((db) =>
        db
          .selectFrom(sql<Record<never, never>>`(select ${JSON.stringify(event)}::text as event)`.as('row'))
          .select(storage.dialect.withoutFields.as('event')),
      );
      expect(rows.map((row) => JSON.parse(row.event))).toEqual([{ ...event, data: { id: 'e-1', fields: {} } }]);
    });

    test('contains texts in their order, with wildcards as letters', async () => {
      const { contains, constant } = storage.dialect;
      const isMatch = async (email: string, ...texts: string[]) => {
        const rows = await storage.read((db) =>
          db
            .selectFrom(sql<Record<never, never>>`(select ${email}::text as email)`.as('row'))
            .select('email' as never)
            .where(contains('email', texts)),
        );
        return rows.length === 1;
      };
      for (const email of ['ada', 'x ada@b.example', 'ada\u{10FFFE}']) {
        expect(await isMatch(email, 'ada')).toBe(true);
      }
      for (const email of ['ad', 'adb', 'b', 'ad_', 'ad%a']) {
        expect(await isMatch(email, 'ada')).toBe(false);
      }
      for (const text of ['d%a', '%', '_', '\\']) {
        expect([text, await isMatch('ad%a_\\', text), await isMatch('ada', text)]).toEqual([text, true, false]);
      }
      expect(await isMatch('phone\n123', 'phone', '23')).toBe(true);
      expect(await isMatch('phone\n123', '23', 'phone')).toBe(false);
      expect(await isMatch('phone\n123', 'telephone', '23')).toBe(false);
      const { sql: text } = storage.compile((db) => db.selectNoFrom(constant("it's").as('value')));
      expect(text).toContain("'it''s'");
    });

    test('skips locked rows, and does not check the disk space', () => {
      const { sql: text } = storage.compile((db) =>
        storage.dialect.skipLocked(db.selectFrom('operator_audit').selectAll() as never),
      );
      expect(text).toMatch(/for update skip locked$/);
      storage.requireDiskSpace();
    });
  });
});
