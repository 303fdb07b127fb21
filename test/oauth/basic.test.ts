/** Client authentication with the scheme Basic, at the address that revokes tokens (reference §26.6, RFC 6749 §2.3.1). */
import { writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { expect, test } from 'vitest';
import { digestOfToken } from '../../src/credentials/file.ts';
import { credentials, tokens } from '../support/service.ts';
import { ACME, oauthService, post } from './rig.ts';

const started = oauthService();
const base64 = (text: string) => Buffer.from(text).toString('base64');
const PAIR = base64(`acme:${tokens.both}`);
const revoke = (authorization: string, changes = {}) =>
  post(started.service, { token: 'unknown', ...changes }, { path: '/oauth/revoke', headers: { authorization } });

test.each([`Basic ${PAIR}`, `basic ${PAIR}`, `BASIC   ${PAIR}`, `Basic ${PAIR.replace(/=+$/, '')}`])(
  'accepts %j',
  async (line) => {
    expect((await revoke(line)).status).toBe(200);
  },
);

test.each(['c', 'cc', 'ccc'])('accepts a secret ending in %j, whatever the padding', async (end) => {
  const { settings, parts } = started.service;
  const secret = `two words+é${end}`;
  const [acme] = structuredClone(credentials.clients);
  const created_at = '2026-09-01T00:00:00.000Z';
  acme?.credentials.push({ id: 'c_9', sha256: digestOfToken(secret), created_at, expires_at: null });
  writeFileSync(settings.credentialsFile ?? '', JSON.stringify({ clients: [acme] }));
  await parts.credentials.reload();
  for (const encoded of [encodeURIComponent(secret), encodeURIComponent(secret).replaceAll('%20', '+')]) {
    expect((await revoke(`Basic ${base64(`acme:${encoded}`)}`)).status).toBe(200);
  }
});

test.each([
  `Bearer ${PAIR}`,
  `xBasic ${PAIR}`,
  `Basic${PAIR}`,
  `Basic ${PAIR} x`,
  `Basic ${PAIR}!`,
  `Basic ${PAIR.replace(/=+$/, '')}===`,
  'Basic',
  `Basic ${base64('acme:%zz')}`,
  `Basic ${base64(`%zz:${tokens.both}`)}`,
])('returns 401 with a challenge for the unreadable header %j, also if the body has a valid client', async (line) => {
  for (const changes of [{}, ACME]) {
    const { status, body, headers } = await revoke(line, changes);
    expect([status, body.error]).toEqual([401, 'invalid_client']);
    expect(headers.get('www-authenticate')).toMatch(/^Basic /);
  }
});

test.each(['acme', `:${tokens.both}`, `Acme:${tokens.both}`, `acme: ${tokens.both}`])(
  'returns 401 for the name and secret %j',
  async (text) => {
    const { status, body } = await revoke(`Basic ${base64(text)}`);
    expect([status, body.error]).toEqual([401, 'invalid_client']);
  },
);

test('returns 401 for two lines of Authorization', async () => {
  const half = PAIR.length / 2 - ((PAIR.length / 2) % 4);
  for (const lines of [
    [`Basic ${PAIR}`, `Basic ${PAIR}`],
    [`Basic ${PAIR.slice(0, half)}`, PAIR.slice(half)],
  ]) {
    const status = await new Promise((resolve, reject) => {
      const headers = { authorization: lines, 'content-type': 'application/x-www-form-urlencoded' } as never;
      const sent = request(`${started.service.url}/oauth/revoke`, { method: 'POST', headers }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      });
      sent.on('error', reject).end('token=unknown');
    });
    expect(status).toBe(401);
  }
});
