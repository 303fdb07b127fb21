import { connect } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { problems } from '../../src/failures/catalogue.ts';
import { call, executeAction, previewId } from '../support/agent.ts';
import { codePoint } from '../support/code-point.ts';
import { scenario } from '../support/scenario.ts';
import { freshAddress, startService, tokens } from '../support/service.ts';

const STATEMENT = 'I confirm that Service may use these details for the selected action.';
const path = '/api/agent/actions/homeowner_quote/execute';
const at = scenario();
const { clock, expecting } = at;

describe('execute, refusals without a row or a delivery (reference §5.7)', () => {
  const none = { key: null };
  test.each([
    ['404 for an unknown action', 404, { action: 'nope', token: null, ...none }],
    ['401 without a credential', 401, { token: null, ...none }],
    ['403 without the scope', 403, { token: tokens.preview, ...none }],
    ['400 without an Idempotency-Key', 400, none],
    ['400 without an Idempotency-Key, before the body is parsed', 400, { ...none, raw: '{' }],
    ['400 for an empty Idempotency-Key', 400, { key: '' }],
    ['400 for an Idempotency-Key of 201 characters', 400, { key: 'k'.repeat(201) }],
    ['400 for an Idempotency-Key beyond ASCII', 400, { key: 'k\u00e9' }],
    ['400 for an Idempotency-Key with a tab', 400, { key: 'a\tb' }],
    ['413 for a body over 512 KiB', 413, { raw: 'x'.repeat(512 * 1024 + 1) }],
    ['400 for a Content-Encoding', 400, { headers: { 'content-encoding': 'gzip' } }],
    ['400 for an empty Content-Encoding', 400, { headers: { 'content-encoding': '' } }],
    ['400 for another charset', 400, { headers: { 'content-type': 'text/plain; charset=utf-16' } }],
    ['400 for invalid JSON', 400, { raw: '{' }],
    ['400 for JSON that is not an object', 400, { raw: '[]' }],
    [
      '400 without a preview_id, before the confirmation is checked',
      400,
      { body: { preview_id: undefined, confirmation: false } },
    ],
    ['400 for a preview_id that is not a string', 400, { body: { preview_id: 1, confirmation: false } }],
    [
      '409 without a confirmation, before the token is checked',
      409,
      { body: { preview_id: 'x', confirmation: undefined } },
    ],
    ['409 for the confirmation false', 409, { body: { confirmation: false } }],
    ['409 for the confirmation "true"', 409, { body: { confirmation: 'true' } }],
    ['409 for the confirmation 1', 409, { body: { confirmation: 1 } }],
    ['409 without a confirmation_text', 409, { body: { confirmation_text: undefined } }],
    ['409 for another confirmation_text', 409, { body: { confirmation_text: `${STATEMENT} ` } }],
    ['409 for a confirmation_text in another case', 409, { body: { confirmation_text: STATEMENT.toLowerCase() } }],
    ['409 for a confirmation_text that is not a string', 409, { body: { confirmation_text: [STATEMENT] } }],
    ['400 for a malformed token', 400, { body: { preview_id: 'a.b.c' } }],
    ['400 for an empty token', 400, { body: { preview_id: '' } }],
    ['400 for a preview of another action', 400, { action: 'contact' }],
  ] as const)('returns %s', async (_name, status, options) => {
    const preview = await previewId(at.service);
    const answer = await expecting({}, () => executeAction(at.service, preview, options));
    expect([answer.status, answer.body.error]).toEqual([status, expect.any(String)]);
    // The preview is not consumed, so it still executes.
    expect((await executeAction(at.service, preview)).status).toBe(200);
  });

  test('accepts an Idempotency-Key of 200 printable characters', async () => {
    const key = `${' !~'.trim()}${'k'.repeat(198)}`;
    expect((await executeAction(at.service, await previewId(at.service), { key })).status).toBe(200);
  });

  test('returns 400 for a preview that is ten minutes old, and 200 one millisecond earlier', async () => {
    const [early, late] = [await previewId(at.service), await previewId(at.service)];
    clock.advance(599_999);
    expect((await executeAction(at.service, early)).status).toBe(200);
    clock.advance(1);
    const answer = await expecting({}, () => executeAction(at.service, late));
    expect([answer.status, answer.body.error]).toEqual([400, problems.expiredPreview.error]);
  });

  test('returns 400 for a preview of another action, although both have the same destination', async () => {
    const fields = { name: 'A', email: 'a@b.co', subject: 'S', message: 'M' };
    const preview = await previewId(at.service, 'contact', fields);
    const answer = await expecting({}, () => executeAction(at.service, preview, { action: 'newsletter' }));
    expect([answer.status, answer.body.error]).toEqual([400, problems.otherAction.error]);
  });

  test('returns 400 for a preview that names another destination than the current one', async () => {
    const elsewhere = await startService({ clock, environment: { CONTRACTOR_NAME: 'Others' } });
    const preview = await previewId(elsewhere);
    await elsewhere.close();
    const answer = await expecting({}, () => executeAction(at.service, preview));
    expect([answer.status, answer.body.error]).toEqual([400, problems.invalidPreview.error]);
  });

  test('WWW-Authenticate names the credential error with 401 and the missing scope with 403', async () => {
    const challenge = async (token: string | null) =>
      (await executeAction(at.service, 'x', { token })).headers.get('www-authenticate');
    expect([await challenge(null), await challenge('wrong'), await challenge(tokens.preview)]).toEqual([
      'Bearer realm="agent actions"',
      'Bearer realm="agent actions", error="invalid_token"',
      'Bearer realm="agent actions", error="insufficient_scope", scope="lead:create"',
    ]);
  });

  test('returns 409 retryable if the claim fails and no row can be found', async () => {
    const { executions } = at.service.parts;
    const { claim } = executions;
    const preview = await previewId(at.service);
    executions.claim = async () => undefined;
    const answer = await expecting({}, () => executeAction(at.service, preview));
    executions.claim = claim;
    expect([answer.status, answer.body.retryable]).toEqual([409, true]);
  });

  test('returns 400 for two Idempotency-Key headers and 401 for two Authorization headers', async () => {
    const { port } = new URL(at.service.url);
    const raw = (...headers: string[]) =>
      new Promise<string>((resolve, reject) => {
        let text = '';
        const socket = connect(Number(port), '127.0.0.1');
        socket
          .on('data', (chunk) => (text += chunk))
          .on('end', () => resolve(text))
          .on('error', reject);
        socket.write(
          `POST ${path} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${freshAddress()}\r\nConnection: close\r\nContent-Length: 2\r\n${headers.map((line) => `${line}\r\n`).join('')}\r\n{}`,
        );
      });
    const authorization = `Authorization: Bearer ${tokens.both}`;
    expect(await raw(authorization, 'Idempotency-Key: a', 'Idempotency-Key: a')).toMatch(
      /^HTTP\/1.1 400 .*Idempotency-Key/s,
    );
    expect(await raw(authorization, authorization, 'Idempotency-Key: a')).toMatch(/^HTTP\/1.1 401 /);
  });

  test('returns 429 after 20 requests in a minute from one address', async () => {
    const headers = { 'x-forwarded-for': freshAddress() };
    for (let n = 0; n < 20; n += 1) expect((await call(at.service, path, { headers })).status).toBe(401);
    const answer = await call(at.service, path, { headers });
    expect([answer.status, answer.headers.get('retry-after'), answer.headers.get('ratelimit-policy')]).toEqual([
      429,
      '60',
      '"execute";q=20;w=60',
    ]);
  });

  test('if executions are not configured, returns 503, checked after 403 and before 400', async () => {
    for (const environment of [{ UPSTREAM_URL: '' }, { PREVIEW_SIGNING_KEYS: '' }]) {
      const unconfigured = await startService({ environment });
      const answers = [
        await executeAction(unconfigured, 'x', { token: tokens.preview }),
        await executeAction(unconfigured, 'x', { key: null }),
      ];
      await unconfigured.close();
      expect(answers.map(({ status }) => status)).toEqual([403, 503]);
    }
  });
});

test('returns a 4xx, stores no row and delivers nothing for arbitrary bodies, keys and previews', async () => {
  await expecting({}, () =>
    fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.json(), fc.string({ unit: codePoint })),
        fc.stringMatching(/^[!-~]{1,20}$/),
        async (raw, key) => {
          const answer = await executeAction(at.service, '', { raw, key });
          expect(answer.status).toBeGreaterThanOrEqual(400);
          expect(answer.status).toBeLessThan(500);
        },
      ),
      { numRuns: 200 },
    ),
  );
});
