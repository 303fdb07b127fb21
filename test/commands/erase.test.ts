import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { executeAction, previewId } from '../support/agent.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { post } from '../support/forms.ts';
import type { Ran } from '../support/ran.ts';
import { type Service, startService } from '../support/service.ts';
import { keepRows, recentRow } from '../support/submissions.ts';
import { until } from '../support/until.ts';
import { runService, temporaryFolder } from './run-service.ts';

const ada = { name: 'Ada Canarylace', email: 'ada.canary@example.com' };
const message = { subject: 'Canarysubject', message: 'Canarymessage' };
const eve = { name: 'Eve', email: 'nada.canary@example.com' };
const local = { NODE_ENV: '', SMTP_URL: '', MAIL_FROM: '' };

/** An erasure that waits five seconds for another process while the other tests of this file run. */
let reader: DatabaseSync;
let readFolder: string;
let waiting: Promise<Ran>;
const eraseAda = () => runService(['erase', ada.email, '--yes'], { environment: { DATA_DIR: readFolder } });
beforeAll(async () => {
  readFolder = join(temporaryFolder(), 'data');
  mkdirSync(readFolder);
  const storage = await openIn(readFolder);
  await keepRows(storage, [recentRow({ fields: { email: ada.email } })]);
  await storage.close();
  reader = new DatabaseSync(join(readFolder, 'service.db'));
  reader.exec('begin');
  reader.prepare('select count(*) from submissions').get();
  waiting = eraseAda();
});
afterAll(() => reader.close());

describe.each(databases)('erase on %s while the service runs', (name, create) => {
  let database: TestDatabase;
  let service: Service;
  let receipt: unknown;
  const key = 'key-of-the-client';
  let execution: { preview: string };

  const erase = (args: string[], options: { input?: string } = {}) =>
    runService(['erase', ...args], {
      environment: { DATA_DIR: service.folder, DATABASE_URL: database.url },
      ...options,
    });
  const outbox = async () => (await service.parts.storage.read((db) => db.selectFrom('messages').selectAll())).length;
  const kept = async () => (await service.parts.storage.read((db) => db.selectFrom('submissions').select('id'))).length;
  const messages = () => globSync(join(service.folder, 'mail/*.eml'));
  const replay = () => executeAction(service, execution.preview, { action: 'contact', key });

  beforeAll(async () => {
    database = await create();
    service = await startService({ environment: { ...local, DATABASE_URL: database.url } });
    for (const person of [ada, eve]) {
      await post(service, '/api/leads', 'json', { form: 'contact', ...person, ...message });
      await post(service, '/api/subscribe', 'json', { email: person.email, privacy: 'yes' });
    }
    const preview = await previewId(service, 'contact', { ...ada, ...message });
    execution = { preview };
    receipt = (await replay()).body.receipt;
    await vi.waitFor(() => expect(messages()).toHaveLength(2), { timeout: 10_000 });
  });
  afterAll(async () => {
    await service.close();
    await database.remove();
  });

  test('--dry-run counts in words and as JSON, and erases nothing', async () => {
    const words =
      'Would be erased: 2 leads, 1 subscription, 0 pending confirmations, 1 subscriber, 1 message in the outbox, 1 message file.';
    expect(await erase([ada.email, '--dry-run'])).toEqual({
      status: 0,
      stdout: `${words}\n`,
      stderr: '',
    });
    const { stdout } = await erase(['-', '--dry-run', '--json'], {
      input: ` ADA.canary@Example.com\n`,
    });
    expect(JSON.parse(stdout)).toEqual({
      dry_run: true,
      leads: 2,
      subscriptions: 1,
      confirmations: 0,
      subscribers: 1,
      unsubscribed_undelivered: 0,
      outbox: 1,
      message_files: 1,
    });
    expect([await kept(), await outbox(), messages().length]).toEqual([5, 2, 2]);
  });

  test('exits with 2 and erases nothing if there is no terminal and no --yes', async () => {
    const ran = await erase([ada.email]);
    expect(ran).toMatchObject({ status: 2, stdout: '' });
    expect(ran.stderr).toMatch(/^Erase 2 leads.* permanently\? .*--yes\.\n$/);
    expect(await kept()).toBe(5);
  });

  test('erases the data of that person only, and keeps the receipt', async () => {
    const ran = await erase(['-', '--yes', '--json'], { input: 'Ada.Canary@example.com' });
    expect(ran.status).toBe(0);
    expect(JSON.parse(ran.stdout)).toMatchObject({ leads: 2, subscriptions: 1, message_files: 1 });
    expect(ran.stdout + ran.stderr).not.toMatch(/canary/i);
    expect(ran.stderr).toContain(name === 'SQLite' ? 'no traces of the data' : 'VACUUM removed');
    expect([await kept(), await outbox(), messages().length]).toEqual([2, 1, 1]);

    const rows = await service.parts.storage.read((db) => db.selectFrom('executions').selectAll());
    expect(rows).toHaveLength(1);
    expect(JSON.stringify(rows)).not.toMatch(/canary/i);
    expect((await replay()).body).toEqual({ ok: true, receipt, replay: true });
  });

  test('the person can subscribe again with the erased address', async () => {
    const again = await post(service, '/api/subscribe', 'json', {
      email: ada.email,
      privacy: 'on',
    });
    expect([again.status, await kept()]).toEqual([200, 3]);
    await expect.poll(() => messages().length).toBe(2);
    expect((await erase([ada.email, '--yes'])).status).toBe(0);
  });

  test.runIf(name === 'PostgreSQL')(
    'erases a message file that was written while the rows were being deleted',
    async () => {
      const grace = 'grace.canary@example.com';
      await post(service, '/api/leads', 'json', {
        form: 'contact',
        ...ada,
        ...message,
        email: grace,
      });
      const holder = new pg.Client({ connectionString: database.url });
      await holder.connect();
      await holder.query(`begin; select from submissions where email = '${grace}' for update`);
      const erasing = erase([grace, '--yes', '--json']);
      const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      await until(async () => {
        await holder.query('select pg_stat_clear_snapshot()');
        return (await holder.query(waiting)).rowCount === 1;
      });
      const late = join(service.folder, 'mail', 'late.eml');
      writeFileSync(late, `To: ${grace}\r\n\r\nHello`);
      await holder.query('commit');
      await holder.end();
      expect(JSON.parse((await erasing).stdout)).toMatchObject({ leads: 1, message_files: 1 });
      expect(globSync(late)).toEqual([]);
    },
  );

  test('erases a submission that is being sent, and warns that the submission may still arrive', async () => {
    const fields = { email: 'both.canary@example.com' };
    await keepRows(service.parts.storage, [
      recentRow({ fields, stored_here: 1 }),
      recentRow({ fields, status: 'sending' }),
    ]);
    const { stdout, stderr } = await erase([fields.email, '--yes', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ leads: 2, subscriptions: 0 });
    expect(stderr).toContain('may still arrive');
    expect((await erase([fields.email, '--dry-run'])).stdout).toContain('0 leads');
  });

  test('rejects an address without @ and does not print the address', async () => {
    const ran = await erase(['ada.canary', '--yes']);
    expect(ran).toMatchObject({ status: 2, stdout: '' });
    expect(ran.stderr).not.toContain('canary');
  });

  test('exits with 0 for an address without data', async () => {
    const ran = await erase(['nobody@example.com']);
    expect(ran.stdout).toMatch(
      /^Erased: 0 leads, 0 subscriptions, 0 pending confirmations, 0 subscribers, 0 messages.*, 0 message files\.\n$/,
    );
    expect(ran.status).toBe(0);
  });

  test.runIf(name === 'SQLite')('leaves no name and no address of the erased person in any file', () => {
    const files = globSync('**/*', { cwd: service.folder, withFileTypes: true });
    const store = globSync(`${database.url.slice('sqlite:'.length)}*`).map((path) => path);
    const paths = [...files.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name)), ...store];
    expect(paths.length).toBeGreaterThan(3);
    const all = paths.map((path) => readFileSync(path, 'latin1')).join('\n');
    expect(all).toContain(eve.email);
    expect(all.replaceAll(eve.email, '')).not.toMatch(/ada\.canary|Canarylace/i);
  });
});

describe('erase on a SQLite file', () => {
  /** A database of many people with often split pages, which still contain copies of moved rows. */
  let folder: string;
  const PEOPLE = 3_000;
  const person = (number: number) => `canary${String(number).padStart(5, '0')}@example.com`;
  const erase = (email: string) => runService(['erase', email, '--yes'], { environment: { DATA_DIR: folder } });

  beforeAll(async () => {
    folder = join(temporaryFolder(), 'data');
    mkdirSync(folder);
    const storage = await openIn(folder);
    const rows = Array.from({ length: PEOPLE }, (_, number) => {
      const email = person((number * 1_009) % PEOPLE);
      const fields = { email, message: 'x'.repeat((number * 37) % 900) };
      return recentRow({ fields, subscriber: number % 2 === 0 ? null : email });
    });
    await keepRows(storage, rows);
    await storage.close();
  });

  test('leaves no copy of an erased row in database pages that were split', async () => {
    const raw = () => readFileSync(join(folder, 'service.db'), 'latin1');
    // A row's copy in a split page, which only a rewrite of the file removes.
    const stale = copiesIn(raw()).find(({ copies, wanted }) => copies > wanted);
    const { email } = stale ?? expect.fail('no page was split so');
    expect((await erase(email)).status).toBe(0);
    expect(raw()).not.toContain(email.slice(0, -'@example.com'.length));
  });

  function copiesIn(raw: string) {
    const found = Map.groupBy(raw.matchAll(/canary\d{5}/g), ([text]) => text);
    return [...found].map(([text, all]) => {
      const wanted = Number(text.slice(6)) % 2 === 0 ? 3 : 5;
      return { email: `${text}@example.com`, copies: all.length, wanted };
    });
  }

  test('rewrites a large file at night if the service runs, and at once if the service is stopped', async () => {
    const storage = await openIn(folder);
    const filler = { id: 'filler', at: '', name: '', what: '', about: 'x'.repeat(26_000_000) };
    await storage.write((tx) => tx.insertInto('operator_audit').values(filler).execute());
    const requested = () => storage.read((db) => db.selectFrom('scrub_requests').select('due_ms'));

    const beside = await erase(person(1));
    expect([beside.status, beside.stderr]).toEqual([
      0,
      expect.stringMatching(/^The rows are deleted\..* contains traces of them until .*03:00 \(/),
    ]);
    expect((await requested()).map(({ due_ms }) => due_ms > Date.now())).toEqual([true]);
    await storage.close();

    const alone = await erase(person(2));
    expect([alone.status, alone.stderr]).toEqual([
      0,
      expect.stringMatching(/^The files of the database contain no traces/),
    ]);
    const after = await openIn(folder);
    expect(await after.read((db) => db.selectFrom('scrub_requests').selectAll())).toEqual([]);
    await after.close();
  });

  test('exits with 1 and one sentence if there is no database', async () => {
    const ran = await runService(['erase', 'a@b.example']);
    expect(ran).toMatchObject({ status: 1, stdout: '' });
    expect(ran.stderr).toMatch(/^There is no database yet at [^\n]+\n$/);
  });
});

test('erase on a SQLite file exits with 1 and asks to run it again if another process reads the database', async () => {
  const ran = await waiting;
  expect(ran.status).toBe(1);
  expect(ran.stderr).toMatch(
    /^The rows are deleted. Traces of them stay in the write-ahead log.*run this command again/,
  );
  reader.exec('commit');
  expect((await eraseAda()).status).toBe(0);
  const raw = globSync(join(readFolder, 'service.db*')).map((path) => readFileSync(path, 'latin1'));
  expect(raw.join('')).not.toContain(ada.email);
});

async function openIn(folder: string) {
  const { openSqlite } = await import('../../src/storage/sqlite/store.ts');
  return await openSqlite(join(folder, 'service.db'), systemClock);
}
