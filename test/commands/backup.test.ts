import { copyFileSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { sql } from 'kysely';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { executeAction, previewId } from '../support/agent.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { type ServiceProcess, startProcess } from '../support/process.ts';
import type { Ran } from '../support/ran.ts';
import { until } from '../support/until.ts';
import { runService, temporaryFolder } from './run-service.ts';

vi.setConfig({ testTimeout: 60_000 });

const AT_ONCE = 8;

type Answered = { key: string; preview: string; receipt: unknown };

const started: ServiceProcess[] = [];
const created: TestDatabase[] = [];
afterAll(async () => {
  await Promise.all(started.map((service) => service.end()));
  await Promise.all(created.map((database) => database.remove()));
});

const sqlite = databases[0]?.[1] ?? expect.fail();
if (databases.length === 1) {
  console.warn('Skipped: PostgreSQL is not there, so no dump of it is tried.');
}

/** Expects one sentence on standard error and nothing on standard output. */
function expectRefusal(ran: Ran, says: RegExp, status = 1) {
  expect(ran).toMatchObject({ status, stdout: '' });
  expect(ran.stderr).toMatch(says);
  expect(ran.stderr.trimEnd().split('\n')).toHaveLength(1);
}

describe.each(databases)('backup and restore on %s', (name, create) => {
  const folder = temporaryFolder();
  const file = join(folder, 'backup');
  let answeredBefore: Answered[];

  const fresh = async () => {
    const database = await create();
    created.push(database);
    return database;
  };
  const start = async (database: TestDatabase) => {
    const service = await startProcess({ environment: { DATABASE_URL: database.url } });
    started.push(service);
    return service;
  };
  const backup = (database: TestDatabase, to = file) =>
    runService(['backup', to], { environment: { DATABASE_URL: database.url } });
  const restore = (database: TestDatabase, from = file, ...flags: string[]) =>
    runService(['restore', from, ...flags], { environment: { DATABASE_URL: database.url } });

  test('backup writes a complete file with mode 0600 while the service is under load', async () => {
    const database = await fresh();
    const service = await start(database);
    let running = true;
    const answered: Answered[] = [];
    const agent = async () => {
      while (running) {
        const preview = await previewId(service);
        const key = `backup-${Math.random()}`;
        const { status, body } = await executeAction(service, preview, { key });
        expect(status).toBe(200);
        answered.push({ key, preview, receipt: body.receipt });
      }
    };
    const load = Array.from({ length: AT_ONCE }, agent);
    await until(() => answered.length > AT_ONCE);
    answeredBefore = [...answered];
    const ran = await backup(database);
    const during = answered.length - answeredBefore.length;
    running = false;
    await Promise.all(load);
    expect(ran).toMatchObject({ status: 0, stdout: `${file}\n` });
    // The load continued during the backup.
    expect(during).toBeGreaterThan(AT_ONCE);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(['backup']);

    expectRefusal(await backup(database), /^There is a file/);
    expectRefusal(await restore(database, file, '--yes'), /is running on this database\. Stop the service/);
    const { status } = await executeAction(service, await previewId(service));
    expect(status).toBe(200);
  });

  test('restore brings every receipt from before the backup into a new database', async () => {
    const database = await fresh();
    const ran = await restore(database, file, '--yes');
    expect([ran.status, ran.stdout]).toEqual([0, '']);
    expect(ran.stderr).toContain('10 minutes');
    const service = await start(database);
    const remaining = [...answeredBefore];
    const check = async () => {
      for (let one = remaining.pop(); one !== undefined; one = remaining.pop()) {
        const { status, body } = await executeAction(service, one.preview, { key: one.key });
        expect([status, body.replay, body.receipt]).toEqual([200, true, one.receipt]);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, check));
  });

  test('restore replaces all data of the target database', async () => {
    const database = await fresh();
    const service = await start(database);
    const preview = await previewId(service);
    expect((await executeAction(service, preview, { key: 'gone' })).status).toBe(200);
    service.kill('SIGTERM');
    await service.exited;
    expectRefusal(await restore(database), /--yes/, 2);
    expect((await restore(database, file, '--yes')).status).toBe(0);
    const storage = await database.open(systemClock);
    const [found] = await storage.read((db) =>
      db
        .selectFrom('executions')
        .select((row) => [
          row.fn.countAll().as('all'),
          row.fn.countAll().filterWhere('idempotency_key', '=', 'gone').as('gone'),
        ]),
    );
    await storage.close();
    expect(Number(found?.gone)).toBe(0);
    expect(Number(found?.all)).toBeGreaterThanOrEqual(answeredBefore.length);
  });

  test('restore rejects a backup that is damaged, or of a newer version, another program or another database', async () => {
    const database = await fresh();
    const storage = await database.open(systemClock);
    const future = sql`insert into kysely_migration values ('9999-from-the-future', '')`;
    await storage.write((tx) => future.execute(tx));
    await storage.close();
    const target = await fresh();
    const newer = join(folder, 'newer');
    // The backup command refuses a newer database. Its own program could still have copied it.
    expectRefusal(await backup(database, newer), /newer version/);
    await copyOf(name, database, newer);
    expectRefusal(await restore(target, newer, '--yes'), /newer version of this program/);

    const bytes = readFileSync(file);
    const cut = join(folder, 'cut');
    writeFileSync(cut, bytes.subarray(0, bytes.length / 2));
    expectRefusal(await restore(target, cut, '--yes'), /damaged|failed/);
    writeFileSync(cut, 'something else');
    expectRefusal(await restore(target, cut, '--yes'), /is not a backup/);
    expectRefusal(await restore(target, join(folder, 'none'), '--yes'), /ENOENT/);
    const other = name === 'SQLite' ? 'postgres://127.0.0.1:1/none' : 'sqlite:none.db';
    const environment = { DATABASE_URL: other };
    const ran = await runService(['restore', file, '--yes'], { environment });
    expectRefusal(ran, /^The backup is from/);
  });
});

/** Copies the database as another version of the program would. */
async function copyOf(name: string, database: TestDatabase, to: string): Promise<void> {
  if (name === 'SQLite') copyFileSync(database.url.slice('sqlite:'.length), to);
  else {
    const { copyTo } = await import('../../src/storage/postgres/copy.ts');
    await copyTo(to, database.url);
  }
}

describe('backup and restore on SQLite', () => {
  test('restore replaces a damaged database with one that passes integrity_check', async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'service.db');
    const environment = { DATABASE_URL: `sqlite:${path}` };
    const source = await sqlite();
    created.push(source);
    await (await source.open(systemClock)).close();
    const file = join(folder, 'copy');
    await runService(['backup', file], { environment: { DATABASE_URL: source.url } });
    writeFileSync(path, 'no database at all');
    writeFileSync(`${path}-wal`, 'nor this');
    expect((await runService(['restore', file, '--yes'], { environment })).status).toBe(0);
    const database = new DatabaseSync(path, { readOnly: true });
    expect(database.prepare('pragma integrity_check').all()).toEqual([{ integrity_check: 'ok' }]);
    database.close();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(existsSync(`${path}.restored`)).toBe(false);
  });

  test('backup exits with a reason if there is no database, or if the target folder does not exist', async () => {
    const folder = temporaryFolder();
    const nothing = { environment: { DATA_DIR: join(folder, 'data') } };
    expectRefusal(await runService(['backup', join(folder, 'a')], nothing), /npm start/);
    const source = await sqlite();
    created.push(source);
    await (await source.open(systemClock)).close();
    const nowhere = { environment: { DATABASE_URL: source.url } };
    expectRefusal(await runService(['backup', join(folder, 'b/c')], nowhere), /could not be written/);
  });
});

test.runIf(databases.length > 1)(
  'backup names the package to install if pg_dump is missing, and shows no password',
  async () => {
    const database = await (databases[1]?.[1] ?? expect.fail())();
    created.push(database);
    await (await database.open(systemClock)).close();
    const address = new URL(database.url);
    address.password = 'hunter2';
    const environment = { PATH: '/nowhere', DATABASE_URL: address.href };
    const ran = await runService(['backup', join(temporaryFolder(), 'a')], { environment });
    expectRefusal(ran, /^pg_dump is not installed\. Install .*postgresql-client/);
    expect(ran.stderr).not.toContain('hunter2');
  },
);
