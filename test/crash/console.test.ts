/** Kills a process during a change in the console. The database then has the change with its audit entry, or neither. */
import { globSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { makeLink } from '../../src/console/links.ts';
import { mailboxOf } from '../../src/mail/messages.ts';
import type { Storage } from '../../src/storage/database.ts';
import { cookieOf, isSignedIn, OUR_PAGE, operatorWith } from '../console/operator.ts';
import type { Answer } from '../support/agent.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { injected } from '../support/injected.ts';
import { temporaryFolder } from '../support/process.ts';
import { credentials } from '../support/service.ts';
import { keepRows, recentRow } from '../support/submissions.ts';
import { type Restarting, startRestarting } from './restarting.ts';

vi.setConfig({ testTimeout: 120_000 });

/** A change, the part of the database that it concerns, and this part after the change. */
type Change = {
  ask(headers: Record<string, string>): Promise<Answer>;
  state(storage: Storage): Promise<unknown>;
  after: unknown;
};

describe.for(databases)('change in the console whose process is killed, on %s', ([name, create]) => {
  const isServer = name === 'PostgreSQL';
  const file = join(temporaryFolder(), 'agents.json');
  let database: TestDatabase;
  let restarting: Restarting;
  let cookie = '';

  beforeAll(async () => {
    database = await create();
    writeFileSync(file, JSON.stringify(credentials));
    restarting = await startRestarting(database, { AGENT_CREDENTIALS_FILE: file, REDELIVERY: 'off' });
    cookie = cookieOf(await operatorWith(restarting.now(), '').press(await linkFor('Jo'), {}));
  });
  afterAll(async () => {
    await restarting.now().end();
    await database.remove();
  });

  const linkFor = async (operator: string) => {
    const link = { name: operator, now: new Date(), baseUrl: 'http://operator.example' };
    return new URL(await restarting.using((storage) => makeLink(storage, link))).pathname;
  };
  const pressing =
    (path: string, form: Record<string, string> | [string, string][], as = () => cookie) =>
    (headers: Record<string, string>) =>
      operatorWith(restarting.now(), as()).press(
        path,
        {},
        { body: new URLSearchParams(form), headers: { ...OUR_PAGE, ...headers } },
      );
  const auditIn = async ({ read }: Storage, about: string) => {
    const rows = await read((db) => db.selectFrom('operator_audit').selectAll().orderBy('id'));
    return rows.filter((row) => row.about.includes(about) || row.name === about).map(({ what }) => what);
  };

  /** Stores a delivered and two undelivered leads. Returns their ids, and a function that reads their state. */
  async function threeLeads() {
    const undelivered = { status: 'undelivered', reason: 'rejected' } as const;
    const rows = [recentRow(), recentRow(undelivered), recentRow(undelivered)];
    await restarting.using((storage) => keepRows(storage, rows));
    const ids = rows.map(({ id }) => id);
    const state = async (storage: Storage) => {
      const all = await storage.read((db) => db.selectFrom('submissions').selectAll().where('id', 'in', ids));
      const [session] = await storage.read((db) => db.selectFrom('operator_sessions').select('undo'));
      const undo = JSON.parse(session?.undo ?? '{"previous":[]}').previous as { id: string }[];
      return {
        leads: ids.map((id) => all.find((row) => row.id === id)).map((row) => [row?.progress, row?.status, row?.note]),
        undoes: undo.filter(({ id }) => ids.includes(id)).length,
        audit: await auditIn(storage, ids[0] ?? ''),
      };
    };
    return { ids, id: ids[0] ?? '', state };
  }
  const bulk = (what: string, ids: string[]) =>
    pressing('/operator/leads/bulk', [['do', what], ...ids.map((id): [string, string] => ['id', id])]);

  const leadsAre = (progress: string, dismissed: string, note: string | null = null) => [
    [progress, 'delivered', note],
    [note === null ? progress : 'new', dismissed, null],
    [note === null ? progress : 'new', dismissed, null],
  ];

  const changes: Record<string, () => Promise<Change>> = {
    progress: async () => {
      const { id, state } = await threeLeads();
      const [, ...others] = leadsAre('new', 'undelivered');
      const leads = [['won', 'delivered', null], ...others];
      const ask = pressing(`/operator/leads/${id}/progress`, { progress: 'won' });
      return { ask, state, after: { leads, undoes: 1, audit: ['marked'] } };
    },
    note: async () => {
      const { id, state } = await threeLeads();
      const ask = pressing(`/operator/leads/${id}/note`, { note: 'Called.' });
      return { ask, state, after: { leads: leadsAre('new', 'undelivered', 'Called.'), undoes: 0, audit: ['noted'] } };
    },
    'bulk change': async () => {
      const { ids, state } = await threeLeads();
      const after = { leads: leadsAre('spam', 'dismissed'), undoes: 3, audit: ['marked'] };
      return { ask: bulk('spam', ids), state, after };
    },
    undo: async () => {
      const { ids, state } = await threeLeads();
      await bulk('spam', ids)({});
      const [session] = await restarting.using(({ read }) =>
        read((db) => db.selectFrom('operator_sessions').select('undo').where('undo', 'is not', null)),
      );
      const ask = pressing('/operator/leads/undo', { change: JSON.parse(session?.undo ?? '').key });
      return { ask, state, after: { leads: leadsAre('new', 'dismissed'), undoes: 0, audit: ['marked', 'undid'] } };
    },
    erasure: async () => {
      const email = `${crypto.randomUUID()}@example.com`;
      const rows = [recentRow({ fields: { email } }), recentRow({ fields: { email } })];
      await restarting.using(async (storage) => {
        await keepRows(storage, rows);
        await storage.write((tx) => tx.insertInto('messages').values(messageTo(email)).execute());
      });
      const state = async (storage: Storage) => {
        const { read } = storage;
        const leads = await read((db) => db.selectFrom('submissions').select('id').where('email', '=', email));
        const messages = await read((db) => db.selectFrom('messages').select('key').where('address', '=', email));
        const requests = await read((db) => db.selectFrom('scrub_requests').select('id'));
        const audit = await auditIn(storage, rows[0]?.id ?? '');
        return [leads.length, messages.length, requests.length, audit];
      };
      const ask = pressing(`/operator/people/${rows[0]?.id}`, { do: 'delete' });
      return { ask, state, after: [0, 0, 1, ['deleted_person']] };
    },
  };
  const tables: Record<string, string> = { undo: 'submissions', erasure: 'scrub_requests' };

  const messageTo = (email: string) => ({
    kind: 'acknowledgement' as const,
    key: mailboxOf(email),
    address: email,
    about: null,
    sealed_secret: null,
    priority: 2 as const,
    message_id: `<${email}>`,
    status: 'sent' as const,
    requested_at: new Date().toISOString(),
    attempts: 1,
    next_attempt_at: new Date().toISOString(),
    last_attempt_at: new Date().toISOString(),
    attempt_started_ms: null,
    reply: null,
  });

  test.for(Object.keys(changes))('%s is stored with its audit entry, or not at all', async (what, context) => {
    const { ask, state, after } = (await changes[what]?.()) ?? expect.fail();
    const before = await restarting.using(state);
    for (const point of ['before the commit', 'after the commit']) {
      await restarting.kill(`${point} of ${tables[what] ?? 'submissions'}`, ask);
      const named = isServer ? point.replace('before the commit', 'as the commit is sent') : point;
      injected(context, `console: kill -9 ${named}, ${name}`);
      const left = await restarting.using(state);
      // PostgreSQL may carry out a commit whose process is gone.
      const isDone = point === 'after the commit' || (isServer && JSON.stringify(left) === JSON.stringify(after));
      expect([point, left]).toEqual([point, isDone ? after : before]);
      if (isDone) return;
    }
  });

  test('a sign-in link is used and has its session, or still signs in', async (context) => {
    const path = await linkFor('Al');
    const ask = pressing(path, {}, () => '');
    const state = async (storage: Storage) => {
      const { read } = storage;
      const links = await read((db) => db.selectFrom('operator_links').select('used_at').where('name', '=', 'Al'));
      const sessions = await read((db) => db.selectFrom('operator_sessions').select('name').where('name', '=', 'Al'));
      return [links.map(({ used_at }) => used_at !== null), sessions.length, await auditIn(storage, 'Al')];
    };
    const [before, after] = [
      [[false], 0, []],
      [[true], 1, ['signed_in']],
    ];
    await restarting.kill('before the commit of operator_links', ask);
    injected(context, `console: kill -9 ${isServer ? 'as the commit is sent' : 'before the commit'}, ${name}`);
    expect(await restarting.using(state)).toBeOneOf(isServer ? [before, after] : [before]);
    if (!isServer) {
      await restarting.kill('after the commit of operator_links', ask);
      injected(context, `console: kill -9 after the commit, ${name}`);
      expect(await restarting.using(state)).toEqual(after);
    }
    // The browser did not get its cookie, so the operator needs another link.
    const statuses = [(await ask({})).status, (await ask({})).status];
    expect(statuses.at(-1)).toBe(403);
    const again = await pressing(await linkFor('Al'), {}, () => '')({});
    expect(await isSignedIn(operatorWith(restarting.now(), cookieOf(again)))).toBe(true);
  });

  // The file is the same with PostgreSQL.
  if (isServer) return;

  describe('credentials', () => {
    const clients = () => JSON.parse(readFileSync(file, 'utf8')).clients as { name: string; credentials: object[] }[];
    const counted = (client: string) => clients().find((each) => each.name === client)?.credentials.length ?? 0;
    const state = (client: string) => async (storage: Storage) => [
      counted(client),
      (await auditIn(storage, `"${client}"`)).length,
    ];
    /** Makes the lock stale, which it otherwise is after ten seconds. */
    const ageLock = () => {
      for (const path of globSync(`${file}.lock*`)) utimesSync(path, 0, 0);
    };

    test.for([
      { what: 'issue', form: { name: 'bee', label: '', expires: '', scope: 'lead:preview' }, was: 0, is: 1 },
      { what: 'rotate', form: { name: 'looker', overlap: '7d' }, was: 1, is: 2 },
      { what: 'revoke', form: { name: 'sender' }, was: 1, is: 0 },
    ])(
      '$what leaves the old or the new file, and no change without its audit entry',
      async ({ what, form, was, is }, context) => {
        const ask = pressing('/operator/agents', { do: what, ...form });
        const points: [string, unknown][] = [
          ['before the commit of operator_audit', [was, 0]],
          ['after the commit of operator_audit', [was, 1]],
          ['after the rename', [is, 2]],
        ];
        for (const [point, left] of points) {
          await restarting.kill(point, ask);
          injected(context, `console, credentials: kill -9 ${point.replace(/ of .*/, '')}`);
          expect([point, await restarting.using(state(form.name))]).toEqual([point, left]);
          ageLock();
        }
        // The next change takes over the lock of the dead process.
        const next = { do: 'issue', name: `after-${what}`, label: '', expires: '', scope: 'lead:preview' };
        expect((await pressing('/operator/agents', next)({})).status).toBe(200);
        expect(counted(next.name)).toBe(1);
        expect(globSync(`${file}.*`)).toEqual([]);
      },
    );
  });
});
