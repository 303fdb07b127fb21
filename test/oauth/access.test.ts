/** The check of an access token, with the real store and credentials file (reference §26.7). */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { describe, expect, test } from 'vitest';
import { digestOfToken } from '../../src/credentials/file.ts';
import { checkAccess, findHolder } from '../../src/oauth/access.ts';
import { openConnections } from '../../src/oauth/connections.ts';
import { makeSecret } from '../../src/oauth/secrets.ts';
import { randomSecret } from '../../src/platform/random.ts';
import { StorageUnavailable } from '../../src/storage/database.ts';
import { credentials, tokens } from '../support/service.ts';
import { connect, connectionRow, keepConnections, oauthService, statusWith } from './rig.ts';

const started = oauthService();
const check = (...lines: string[]) => {
  const { parts } = started.service;
  return checkAccess({ ...parts, connections: openConnections(parts) }, lines);
};

describe('checkAccess', () => {
  test('returns client, credential and scopes of a valid token', async () => {
    const { access_token } = await connect(started.service, { scope: 'lead:preview' });
    expect(await check(`Bearer ${access_token}`)).toEqual({
      client: 'acme',
      credential: digestOfToken(tokens.both),
      scopes: new Set(['lead:preview']),
    });
  });

  test('returns "invalid" for no line, two lines and an unknown token', async () => {
    const { access_token } = await connect(started.service);
    const line = `Bearer ${access_token}`;
    const answers = [await check(), await check(line, line), await check(`Bearer ${'x'.repeat(43)}`)];
    expect(answers).toEqual(['invalid', 'invalid', 'invalid']);
  });

  test('ends a connection without a credential, and logs its client', async () => {
    const { service, clock } = started;
    const row = connectionRow({ credential: null });
    await keepConnections(service, row);
    const { secret, digest } = makeSecret(randomSecret);
    const expires_at = new Date(clock.now().getTime() + 60_000).toISOString();
    const token = { digest, connection: row.id, scope: row.scope, expires_at };
    await service.parts.storage.write((tx) => tx.insertInto('oauth_access_tokens').values(token).execute());
    expect(await check(`Bearer ${secret}`)).toBe('invalid');
    const left = await service.parts.storage.read((db) =>
      db.selectFrom('oauth_connections').select('id').where('id', '=', row.id),
    );
    expect(left).toEqual([]);
    expect(service.logs.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({ client: 'acme', msg: 'connection ended because its credential is gone' }),
    );
  });
});

test('/connect refuses a request with two lines of Authorization', async () => {
  const { access_token } = await connect(started.service);
  const line = `Bearer ${access_token}`;
  const status = await new Promise((resolve, reject) => {
    const headers = { authorization: [line, line] } as never;
    const sent = request(`${started.service.url}/connect`, { method: 'POST', headers }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    sent.on('error', reject).end();
  });
  expect(status).toBe(401);
});

describe('update of the last use', () => {
  const statusIfWriteFails = async (error: Error) => {
    const { service, clock } = started;
    const { access_token } = await connect(service);
    clock.advance(60_000);
    const { storage } = service.parts;
    const { write } = storage;
    storage.write = () => Promise.reject(error);
    const status = await statusWith(service, access_token);
    storage.write = write;
    return status;
  };

  test('may fail if the store can only be read, and the tools answer', async () => {
    expect(await statusIfWriteFails(new StorageUnavailable('away'))).toBe(200);
  });

  test('returns 500 after any other error', async () => {
    expect(await statusIfWriteFails(new Error('defect'))).toBe(500);
  });
});

describe('findHolder', () => {
  const digest = digestOfToken(tokens.both);

  test('finds a known credential without reading the file', async () => {
    const { settings, parts, logs } = started.service;
    writeFileSync(settings.credentialsFile ?? '', 'broken');
    const before = logs.length;
    const holder = await findHolder(parts.credentials, digest, 'acme');
    const read = logs.slice(before);
    writeFileSync(settings.credentialsFile ?? '', JSON.stringify(credentials));
    expect([holder?.name, read]).toEqual(['acme', []]);
  });

  test('finds a credential in a newer file, and no credential of another client', async () => {
    const { settings, parts } = started.service;
    const token = randomUUID();
    const [client] = structuredClone(credentials.clients);
    client?.credentials.push({
      id: 'c_9',
      sha256: digestOfToken(token),
      created_at: '2026-09-01T00:00:00.000Z',
      expires_at: null,
    });
    writeFileSync(settings.credentialsFile ?? '', JSON.stringify({ clients: [client] }));
    expect((await findHolder(parts.credentials, digestOfToken(token), 'acme'))?.name).toBe('acme');
    expect(await findHolder(parts.credentials, digestOfToken(token), 'other')).toBeUndefined();
  });
});
