import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { countSubmissionsOf, eraseSubmissionsOf } from '../../src/submissions/erasure.ts';
import { copyLegacyInbox } from '../../src/submissions/legacy-inbox.ts';
import { executeAction, previewId } from '../support/agent.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { post } from '../support/forms.ts';
import type { Ran } from '../support/ran.ts';
import { type Service, startService } from '../support/service.ts';
import { keepRows, submissionRow } from '../support/submissions.ts';
import { until } from '../support/until.ts';
import { runService, temporaryFolder } from './run-service.ts';

const ada = { name: 'Ada Canarylace', email: 'ada.canary@example.com' };
const message = { subject: 'Canarysubject', message: 'Canarymessage' };
const eve = { name: 'Eve', email: 'nada.canary@example.com' };
const local = { NODE_ENV: '', SMTP_URL: '', MAIL_FROM: '' };

/** An erasure that waits for another process, while the other tests of this file run: five seconds. */
let reader: DatabaseSync;
let readFolder: string;
let waiting: Promise<Ran>;
const eraseAda = () =>
  runService(['erase', ada.email, '--yes'], { environment: { DATA_DIR: readFolder } });
beforeAll(async () => {
  readFolder = join(temporaryFolder(), 'data');
  mkdirSync(readFolder);
  const storage = await openIn(readFolder);
  await storage.write((tx) => tx.insertInto('inbox').values(oldLead(ada.email)).execute());
  await storage.close();
  reader = new DatabaseSync(join(readFolder, 'service.db'));
  reader.exec('begin');
  reader.prepare('select count(*) from inbox').get();
  waiting = eraseAda();
});
afterAll(() => reader.close());

describe.each(databases)('erase on %s, while the service runs', (name, create) => {
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
  const outbox = async () =>
    (await service.parts.storage.read((db) => db.selectFrom('messages').selectAll())).length;
  /** How many submissions, wherever they are kept. */
  const kept = async () => {
    const { storage } = service.parts;
    const legacy = await storage.read((db) => db.selectFrom('inbox').select('event_id as id'));
    const rows = await storage.read((db) => db.selectFrom('submissions').select('id'));
    return new Set([...legacy, ...rows].map(({ id }) => id)).size;
  };
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

  test('--dry-run counts what would go, in words and as JSON, and leaves it', async () => {
    const words =
      'Would be erased: 2 leads, 1 subscription, 0 pending questions, 1 subscriber, 1 confirmation in the outbox, 1 message file.';
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

  test('off a terminal it wants --yes, and erases nothing without it', async () => {
    const ran = await erase([ada.email]);
    expect(ran).toMatchObject({ status: 2, stdout: '' });
    expect(ran.stderr).toMatch(/^Erase 2 leads.* for good\? .*--yes\.\n$/);
    expect(await kept()).toBe(5);
  });

  test('erases that person alone; the receipt stays, and nothing else of them', async () => {
    const ran = await erase(['-', '--yes', '--json'], { input: 'Ada.Canary@example.com' });
    expect(ran.status).toBe(0);
    expect(JSON.parse(ran.stdout)).toMatchObject({ leads: 2, subscriptions: 1, message_files: 1 });
    expect(ran.stdout + ran.stderr).not.toMatch(/canary/i);
    expect(ran.stderr).toContain(name === 'SQLite' ? 'Nothing of it is left' : 'vacuumed');
    expect([await kept(), await outbox(), messages().length]).toEqual([2, 1, 1]);

    const rows = await service.parts.storage.read((db) => db.selectFrom('executions').selectAll());
    expect(rows).toHaveLength(1);
    expect(JSON.stringify(rows)).not.toMatch(/canary/i);
    expect((await replay()).body).toEqual({ ok: true, receipt, replay: true });
  });

  test('the service goes on: the address can subscribe again', async () => {
    const again = await post(service, '/api/subscribe', 'json', {
      email: ada.email,
      privacy: 'on',
    });
    expect([again.status, await kept()]).toEqual([200, 3]);
    await expect.poll(() => messages().length).toBe(2);
    expect((await erase([ada.email, '--yes'])).status).toBe(0);
  });

  test.runIf(name === 'PostgreSQL')(
    'a message file that was written after the look, while the rows are deleted, goes too',
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
      await holder.query(
        `begin; select from inbox where email = '${grace}' for update; select from submissions where email = '${grace}' for update`,
      );
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

  test.each(['.Old..Canary.@Example.com', 'old"canary"@localhost'])(
    'an address that today’s rule refuses is found as an older version stored it: %s',
    async (written) => {
      const email = written.toLowerCase();
      await storeOld(email);
      const { status, stdout } = await erase(['-', '--yes', '--json'], { input: ` ${written}\n` });
      expect([status, JSON.parse(stdout)]).toMatchObject([0, { leads: 1, outbox: 1 }]);
      const left = await service.parts.storage.read((db) =>
        db.selectFrom('inbox').select('email').where('email', '=', email),
      );
      expect(left).toEqual([]);
    },
  );

  /** As a version with a wider rule for addresses has left it. */
  async function storeOld(email: string) {
    const { storage } = service.parts;
    const [sent = expect.fail('nothing was sent')] = await storage.read((db) =>
      db.selectFrom('messages').selectAll().limit(1),
    );
    const old = { ...sent, key: email, address: email, message_id: crypto.randomUUID() };
    await storage.write(async (tx) => {
      await tx.insertInto('inbox').values(oldLead(email)).execute();
      await tx.insertInto('messages').values(old).execute();
    });
  }

  test('what an older instance wrote and was copied is one lead; what is being sent may arrive', async () => {
    const email = 'both.canary@example.com';
    await storeOld(email);
    await keepRows(service.parts.storage, [
      submissionRow({ id: email, fields: { email }, stored_here: 1 }),
      submissionRow({ fields: { email }, status: 'sending' }),
    ]);
    const { stdout, stderr } = await erase([email, '--yes', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ leads: 2, subscriptions: 0 });
    expect(stderr).toContain('may still arrive');
    expect((await erase([email, '--dry-run'])).stdout).toContain('0 leads');
  });

  test.runIf(name === 'PostgreSQL')(
    'what is copied at the same moment is erased, and what is being erased is not copied',
    async () => {
      const { storage } = service.parts;
      const email = 'copied.canary@example.com';
      const storeLead = () =>
        storage.write((tx) => tx.insertInto('inbox').values(oldLead(email)).execute());
      await storeLead();
      const copyOnce = async () => (await copyLegacyInbox(storage, 100))();
      // The erasure waits for the copy that is under way, and finds it.
      let erasing: Promise<unknown> = Promise.resolve();
      await storage.write(async (tx) => {
        await tx.selectFrom('inbox').selectAll().where('email', '=', email).forUpdate().execute();
        erasing = storage.write((other) => eraseSubmissionsOf(other, email));
        await tx
          .insertInto('submissions')
          .values(submissionRow({ fields: { email } }))
          .execute();
      });
      await erasing;
      expect((await countSubmissionsOf({ storage, clock: systemClock }, email)).leads).toBe(0);
      // The copy passes over what is being erased.
      await storeLead();
      await storage.write(async (tx) => {
        await eraseSubmissionsOf(tx, email);
        await copyOnce();
      });
      await copyOnce();
      expect((await countSubmissionsOf({ storage, clock: systemClock }, email)).leads).toBe(0);
    },
  );

  test('what holds no @ is no address: it may have been typed by mistake', async () => {
    const ran = await erase(['ada.canary', '--yes']);
    expect(ran).toMatchObject({ status: 2, stdout: '' });
    expect(ran.stderr).not.toContain('canary');
  });

  test('an address of which there is nothing is no failure', async () => {
    const ran = await erase(['nobody@example.com']);
    expect(ran.stdout).toMatch(
      /^Erased: 0 leads, 0 subscriptions, 0 pending questions, 0 subscribers, 0 confirm.*, 0 message files\.\n$/,
    );
    expect(ran.status).toBe(0);
  });

  test.runIf(name === 'SQLite')('no file holds the address, the name or the words', () => {
    const files = globSync('**/*', { cwd: service.folder, withFileTypes: true });
    const store = globSync(`${database.url.slice('sqlite:'.length)}*`).map((path) => path);
    const paths = [
      ...files.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name)),
      ...store,
    ];
    expect(paths.length).toBeGreaterThan(3);
    const all = paths.map((path) => readFileSync(path, 'latin1')).join('\n');
    expect(all).toContain(eve.email);
    expect(all.replaceAll(eve.email, '')).not.toMatch(/ada\.canary|Canarylace/i);
  });
});

describe('erase on a SQLite file', () => {
  /** A database of many people whose pages were split often: copies are left where rows moved. */
  let folder: string;
  const PEOPLE = 3_000;
  const person = (number: number) => `canary${String(number).padStart(5, '0')}@example.com`;
  const erase = (email: string) =>
    runService(['erase', email, '--yes'], { environment: { DATA_DIR: folder } });

  beforeAll(async () => {
    folder = join(temporaryFolder(), 'data');
    mkdirSync(folder);
    const storage = await openIn(folder);
    await storage.write(async (tx) => {
      for (let number = 0; number < PEOPLE; number += 1) {
        const email = person((number * 1_009) % PEOPLE);
        await tx
          .insertInto('inbox')
          .values({
            event_id: crypto.randomUUID(),
            type: number % 2 === 0 ? 'lead.created' : 'subscriber.created',
            form: 'contact',
            email,
            received_at: new Date(number).toISOString(),
            event: JSON.stringify({ email, filler: 'x'.repeat((number * 37) % 900) }),
          })
          .execute();
      }
    });
    await storage.close();
  });

  test('leaves nothing in pages that were split either', async () => {
    const raw = () => readFileSync(join(folder, 'service.db'), 'latin1');
    // A copy where a row was before its page was split: what only rewriting the file removes.
    const stale = copiesIn(raw()).find(({ copies, wanted }) => copies > wanted);
    const { email } = stale ?? expect.fail('no page was split so');
    expect((await erase(email)).status).toBe(0);
    expect(raw()).not.toContain(email.slice(0, -'@example.com'.length));
  });

  function copiesIn(raw: string) {
    const found = Map.groupBy(raw.matchAll(/canary\d{5}/g), ([text]) => text);
    return [...found].map(([text, all]) => {
      const wanted = Number(text.slice(6)) % 2 === 0 ? 3 : 4;
      return { email: `${text}@example.com`, copies: all.length, wanted };
    });
  }

  test('without a database says so in one sentence', async () => {
    const ran = await runService(['erase', 'a@b.example']);
    expect(ran).toMatchObject({ status: 1, stdout: '' });
    expect(ran.stderr).toMatch(/^There is no database yet at [^\n]+\n$/);
  });
});

test('erase on a SQLite file says what to do where another process reads the database', async () => {
  const ran = await waiting;
  expect(ran.status).toBe(1);
  expect(ran.stderr).toMatch(/^It is erased, but .*write-ahead log.*Run this again/);
  reader.exec('commit');
  expect((await eraseAda()).status).toBe(0);
  const raw = globSync(join(readFolder, 'service.db*')).map((path) => readFileSync(path, 'latin1'));
  expect(raw.join('')).not.toContain(ada.email);
});

async function openIn(folder: string) {
  const { openSqlite } = await import('../../src/storage/sqlite/store.ts');
  return await openSqlite(join(folder, 'service.db'), systemClock);
}

/** A row of the version before. */
function oldLead(email: string) {
  const event = { event_id: email, type: 'lead.created', form: 'contact', received_at: '2026' };
  return { ...event, email, event: JSON.stringify({ email }) };
}
