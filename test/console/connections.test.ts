import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { connect, connectionRow, keepConnections, refresh, statusWith } from '../oauth/rig.ts';
import { testClock } from '../support/clock.ts';
import type { Service } from '../support/service.ts';
import { type Operator, operatorWith, signIn, startWithConsole } from './operator.ts';

const MARKUP = '<b>Acme</b> & Co';

describe('/operator/connections (reference §12.19)', () => {
  let service: Service;
  let operator: Operator;
  beforeAll(async () => {
    service = await startWithConsole({ clock: testClock() });
  });
  afterAll(() => service.close());
  beforeEach(async () => {
    const { storage } = service.parts;
    await storage.write(async (tx) => {
      await tx.deleteFrom('oauth_connections').execute();
      await tx.deleteFrom('operator_audit').execute();
    });
    operator = await signIn(service);
  });

  const audit = async () => {
    const rows = await service.parts.storage.read((db) => db.selectFrom('operator_audit').selectAll().orderBy('id'));
    return rows
      .map(({ name, what, about }) => [name, what, JSON.parse(about)])
      .filter(([, what]) => what === 'disconnected');
  };
  const press = (form: Record<string, string>, who = operator) => who.press('/operator/connections', form);

  test('lists host, client, scopes, time of connection and last use, the newest first', async () => {
    await keepConnections(
      service,
      connectionRow({ host: 'claude.ai', scope: 'lead:preview', connected_at: '2026-09-01T10:00:00.000Z' }),
      connectionRow({ host: MARKUP, client: MARKUP, connected_at: '2026-09-01T11:00:00.000Z', last_used_at: null }),
      connectionRow({ host: 'unused.example', connected_at: null, family_digest: null, refresh_digest: null }),
    );
    const { status, text, headers } = await operator.get('/operator/connections');
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(text).toContain('<strong><bdi>claude.ai</bdi></strong>');
    expect(text).toContain('lead:preview, lead:create');
    expect(text).toContain('last used <time datetime="2026-09-01T12:00:00.000Z"');
    expect(text).toContain('&lt;b&gt;Acme&lt;/b&gt; &amp; Co');
    expect(text).not.toContain(MARKUP);
    expect(text).not.toContain('unused.example');
    expect(text.indexOf('&lt;b&gt;Acme')).toBeLessThan(text.indexOf('claude.ai'));
    expect((await operator.get('/operator')).text).toContain('<a href="/operator/connections">Connections</a>');
  });

  test('has 50 connections on a page', async () => {
    const rows = Array.from({ length: 51 }, (_, n) =>
      connectionRow({ host: `h${n}.example`, connected_at: new Date(Date.UTC(2026, 8, 1, 0, n)).toISOString() }),
    );
    await keepConnections(service, ...rows);
    const first = await operator.get('/operator/connections');
    expect(first.text).toContain('h50.example');
    expect(first.text).not.toContain('h0.example');
    const older = /rel="next" href="([^"]+)"/.exec(first.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
    const second = await operator.get(older);
    expect(second.text).toContain('h0.example');
    expect(second.text).not.toContain('h1.example');
  });

  test('“Disconnect” ends all tokens of the connection at once, says so once, and is audited', async () => {
    const { access_token, refresh_token } = await connect(service);
    const other = await connect(service);
    const rows = await service.parts.storage.read((db) => db.selectFrom('oauth_connections').selectAll());
    const listed = await operator.get('/operator/connections');
    const ids = [...listed.text.matchAll(/name="id" value="([^"]+)"/g)].map(([, id = '']) => id);
    expect(ids.sort()).toEqual(rows.map(({ id }) => id).sort());

    const [tokenRow] = await service.parts.storage.read((db) =>
      db.selectFrom('oauth_access_tokens').select('connection').orderBy('expires_at').limit(1),
    );
    const statuses = async () => [
      await statusWith(service, access_token),
      await statusWith(service, other.access_token),
    ];
    expect(await statuses()).toEqual([200, 200]);
    const id = tokenRow?.connection ?? '';
    const answer = await press({ do: 'disconnect', id });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/operator/connections']);
    expect((await statuses()).sort()).toEqual([200, 401]);
    const refreshed = [await refresh(service, refresh_token), await refresh(service, other.refresh_token)];
    expect(refreshed.map(({ status }) => status).sort()).toEqual([200, 400]);
    expect(await audit()).toEqual([['Jo', 'disconnected', { client: 'acme', host: '127.0.0.1:9' }]]);
    expect((await operator.get('/operator/connections')).text).toContain('Disconnected: 127.0.0.1:9 of acme.');
    expect((await operator.get('/operator/connections')).text).not.toContain('Disconnected: ');
    expect((await operator.get('/operator/audit')).text).toContain('Disconnected a host');
  });

  test.each<[string, Record<string, string>, number]>([
    ['an unknown id', { do: 'disconnect', id: 'nothing' }, 404],
    ['no id', { do: 'disconnect' }, 400],
    ['another button', { do: 'revoke', id: 'nothing' }, 400],
  ])('%s changes nothing', async (_name, form, status) => {
    await keepConnections(service, connectionRow());
    expect((await press(form)).status).toBe(status);
    expect(await audit()).toEqual([]);
    expect(await service.parts.storage.read((db) => db.selectFrom('oauth_connections').selectAll())).toHaveLength(1);
  });

  test('a click of another site, or without a session, changes nothing', async () => {
    const row = connectionRow();
    await keepConnections(service, row);
    const form = { do: 'disconnect', id: row.id };
    const headers = { 'sec-fetch-site': 'cross-site' };
    expect((await operator.press('/operator/connections', form, { headers })).status).toBe(403);
    expect((await press(form, operatorWith(service, ''))).status).toBe(303);
    expect((await operatorWith(service, '').get('/operator/connections')).status).toBe(303);
    expect(await service.parts.storage.read((db) => db.selectFrom('oauth_connections').selectAll())).toHaveLength(1);
  });

  test('says that OAuth is off, and still lists earlier connections', async () => {
    const off = await startWithConsole({ environment: { OAUTH: 'off' } });
    await keepConnections(off, connectionRow());
    const { text } = await (await signIn(off)).get('/operator/connections');
    expect(text).toContain('OAuth is off');
    expect(text).toContain('claude.ai');
    await off.close();
  });
});
