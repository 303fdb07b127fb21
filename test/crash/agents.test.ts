/**
 * Kills a process while a host connects with OAuth or a sandbox client executes. A connection and its tokens are then as
 * before the request or as after it. An execution ends with one receipt.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { makeLink } from '../../src/console/links.ts';
import type { Storage } from '../../src/storage/database.ts';
import { cookieOf, OUR_PAGE, operatorWith } from '../console/operator.ts';
import { ACME, codeFor, connect, post, press, RETURN, refresh, statusWith, useCode, VERIFIER } from '../oauth/rig.ts';
import { type Answer, executeAction, previewAction, quote } from '../support/agent.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { injected } from '../support/injected.ts';
import { tokens } from '../support/service.ts';
import { type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';
import { expireLeases } from './crashing.ts';
import { type Restarting, startRestarting } from './restarting.ts';

vi.setConfig({ testTimeout: 120_000 });

/** A request, what the store has after it, and what a host sees after the crash that followed the commit. */
type Change = {
  ask(headers: Record<string, string>): Promise<Answer>;
  after: unknown;
  afterwards?(): Promise<unknown>;
  sees?: unknown;
};

describe.for(databases)('agent whose process is killed, on %s', ([name, create]) => {
  const isServer = name === 'PostgreSQL';
  let database: TestDatabase;
  let upstream: ProgrammableUpstream;
  let restarting: Restarting;
  let cookie = '';

  beforeAll(async () => {
    [database, upstream] = [await create(), await startUpstream()];
    restarting = await startRestarting(database, { UPSTREAM_URL: upstream.url });
    const link = { name: 'Jo', now: new Date(), baseUrl: 'http://operator.example' };
    const { pathname } = new URL(await restarting.using((storage) => makeLink(storage, link)));
    cookie = cookieOf(await operatorWith(restarting.now(), '').press(pathname, {}));
  });
  afterAll(async () => {
    await restarting.now().end();
    await upstream.close();
    await database.remove();
  });

  /** Returns whether the code of each connection is used, its refresh token, and the number of access tokens. */
  const state = async ({ read }: Storage) => {
    const connections = await read((db) => db.selectFrom('oauth_connections').selectAll());
    const access = await read((db) => db.selectFrom('oauth_access_tokens').select('digest'));
    const audit = await read((db) => db.selectFrom('operator_audit').select('id').where('what', '=', 'disconnected'));
    const used = connections.map(({ family_digest }) => family_digest !== null);
    return {
      used,
      refreshes: connections.map((row) => row.refresh_digest),
      access: access.length,
      audit: audit.length,
    };
  };
  const ended = { used: [], refreshes: [], access: 0, audit: 0 };
  const other = expect.stringMatching(/^[0-9a-f]{64}$/);

  const changes: Record<string, { table: string; prepare(): Promise<Change> }> = {
    consent: {
      table: 'oauth_connections',
      prepare: async () => ({
        ask: (headers) => press(restarting.now(), { do: 'connect' }, { headers }),
        after: { used: [false], refreshes: [null], access: 0, audit: 0 },
        // The host got no code, so the person connects again.
        afterwards: async () => (await useCode(restarting.now(), await codeFor(restarting.now()))).status,
        sees: 200,
      }),
    },
    code: {
      table: 'oauth_access_tokens',
      prepare: async () => {
        const code = await codeFor(restarting.now());
        const grant = { grant_type: 'authorization_code', code, redirect_uri: RETURN, code_verifier: VERIFIER };
        return {
          ask: (headers) => post(restarting.now(), { ...grant, ...ACME }, { headers }),
          after: { used: [true], refreshes: [other], access: 1, audit: 0 },
          // The tokens got lost with the answer. The second use ends them.
          afterwards: async () => [
            (await useCode(restarting.now(), code)).status,
            await restarting.using(state),
            (await useCode(restarting.now(), await codeFor(restarting.now()))).status,
          ],
          sees: [400, ended, 200],
        };
      },
    },
    refresh: {
      table: 'oauth_access_tokens',
      prepare: async () => {
        const first = await connect(restarting.now());
        const [before] = (await restarting.using(state)).refreshes;
        const grant = { grant_type: 'refresh_token', refresh_token: first.refresh_token };
        return {
          ask: (headers) => post(restarting.now(), { ...grant, ...ACME }, { headers }),
          after: { used: [true], refreshes: [expect.not.stringMatching(before ?? '')], access: 2, audit: 0 },
          afterwards: async () => [
            await statusWith(restarting.now(), first.access_token),
            (await refresh(restarting.now(), first.refresh_token)).status,
            await statusWith(restarting.now(), first.access_token),
            await restarting.using(state),
          ],
          sees: [200, 400, 401, ended],
        };
      },
    },
    revocation: {
      table: 'oauth_connections',
      prepare: async () => {
        const { access_token, refresh_token } = await connect(restarting.now());
        const revoke = { token: refresh_token, ...ACME };
        return {
          ask: (headers) => post(restarting.now(), revoke, { path: '/oauth/revoke', headers }),
          after: ended,
          afterwards: () => statusWith(restarting.now(), access_token),
          sees: 401,
        };
      },
    },
    'revocation of an access token': {
      table: 'oauth_access_tokens',
      prepare: async () => {
        const { access_token, refresh_token } = await connect(restarting.now());
        const revoke = { token: access_token, ...ACME };
        return {
          ask: (headers) => post(restarting.now(), revoke, { path: '/oauth/revoke', headers }),
          after: { used: [true], refreshes: [other], access: 0, audit: 0 },
          afterwards: async () => (await refresh(restarting.now(), refresh_token)).status,
          sees: 200,
        };
      },
    },
    disconnection: {
      table: 'oauth_connections',
      prepare: async () => {
        const { access_token } = await connect(restarting.now());
        const [row] = await restarting.using(({ read }) =>
          read((db) => db.selectFrom('oauth_connections').select('id')),
        );
        const form = { do: 'disconnect', id: row?.id ?? '' };
        return {
          ask: (headers) =>
            operatorWith(restarting.now(), cookie).press('/operator/connections', form, {
              headers: { ...OUR_PAGE, ...headers },
            }),
          after: { ...ended, audit: 1 },
          afterwards: () => statusWith(restarting.now(), access_token),
          sees: 401,
        };
      },
    },
  };

  test.for(Object.keys(changes))('the %s of a connection is stored whole, or not at all', async (what, context) => {
    const { table, prepare } = changes[what] ?? expect.fail();
    await restarting.using(({ write }) =>
      write(async (tx) => {
        await tx.deleteFrom('oauth_connections').execute();
        await tx.deleteFrom('oauth_access_tokens').execute();
        await tx.deleteFrom('operator_audit').where('what', '=', 'disconnected').execute();
      }),
    );
    const { ask, after, afterwards, sees } = await prepare();
    const before = await restarting.using(state);
    await restarting.kill(`before the commit of ${table}`, ask);
    injected(context, `OAuth: kill -9 ${isServer ? 'as the commit is sent' : 'before the commit'}, ${name}`);
    const left = await restarting.using(state);
    // PostgreSQL may carry out a commit whose process is gone.
    expect(left).toBeOneOf(isServer ? [before, after] : [before]);
    if (JSON.stringify(left) === JSON.stringify(before)) {
      await restarting.kill(`after the commit of ${table}`, ask);
      injected(context, `OAuth: kill -9 after the commit, ${name}`);
    }
    expect(await restarting.using(state)).toEqual(after);
    expect(await afterwards?.()).toEqual(sees);
  });

  // On PostgreSQL the claim is one statement. `kill.test.ts` has the crashes of real clients.
  if (isServer) return;

  describe('execution of a sandbox client', () => {
    const token = tokens.sandbox;
    test.for([
      { point: 'before the commit of sandbox_contents', left: [], ends: [200, 'submitted'] },
      { point: 'after the commit of sandbox_contents', left: ['executing'], ends: [502, 'failed'] },
      { point: 'before the settle', left: ['executing'], ends: [502, 'failed'] },
      { point: 'after the settle', left: ['submitted'], ends: [200, 'submitted'] },
    ])('has one receipt and sends nothing if killed $point', async ({ point, left, ends }, context) => {
      const email = `${point.replaceAll(' ', '-')}@example.com`;
      const { body } = await previewAction(restarting.now(), 'homeowner_quote', { ...quote, email }, { token });
      const execute = (headers = {}) =>
        executeAction(restarting.now(), body.preview_id, { token, key: email, headers });
      const stored = ({ read }: Storage) =>
        read((db) =>
          db
            .selectFrom('sandbox_contents')
            .innerJoin('executions', 'action_id', 'id')
            .select('status')
            .where('email', '=', email),
        );
      await restarting.kill(point, execute);
      injected(context, `sandbox: kill -9 ${point.replace('sandbox_contents', 'the claim')}`);
      expect((await restarting.using(stored)).map(({ status }) => status)).toEqual(left);
      if (left[0] === 'executing') expect((await execute()).body).toMatchObject({ retryable: true });
      await restarting.using(expireLeases);
      const [answer, again] = [await execute(), await execute()];
      expect([answer.status, answer.body.receipt.status]).toEqual(ends);
      expect(again.body).toEqual({ ...answer.body, replay: true });
      const rows = await restarting.using(({ read }) => read((db) => db.selectFrom('submissions').select('id')));
      expect([rows, upstream.delivered]).toEqual([[], []]);
    });
  });
});
