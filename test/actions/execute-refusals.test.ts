import { connect } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { problems } from '../../src/failures/catalogue.ts';
import { call, executeAction, previewId } from '../support/agent.ts';
import { scenario } from '../support/scenario.ts';
import { freshAddress, startService, tokens } from '../support/service.ts';

const STATEMENT = 'I confirm that Service may use these details for the selected action.';
const path = '/api/agent/actions/homeowner_quote/execute';
const at = scenario();
const { clock, expecting } = at;

describe('spec §7.1, contract §4: what execute refuses, in order, without a row or a delivery', () => {
  const none = { key: null };
  test.each([
    ['404 unknown action', 404, { action: 'nope', token: null, ...none }],
    ['401 no credential', 401, { token: null, ...none }],
    ['403 no scope', 403, { token: tokens.preview, ...none }],
    ['400 no Idempotency-Key', 400, none],
    ['400 no Idempotency-Key, before the body', 400, { ...none, raw: '{' }],
    ['400 an empty Idempotency-Key', 400, { key: '' }],
    ['400 an Idempotency-Key of 201 characters', 400, { key: 'k'.repeat(201) }],
    ['400 an Idempotency-Key beyond ASCII', 400, { key: 'k\u00e9' }],
    ['400 a tab in an Idempotency-Key', 400, { key: 'a\tb' }],
    ['413 a body over 512 KiB', 413, { raw: 'x'.repeat(512 * 1024 + 1) }],
    ['400 a Content-Encoding', 400, { headers: { 'content-encoding': 'gzip' } }],
    ['400 a Content-Encoding of nothing', 400, { headers: { 'content-encoding': '' } }],
    ['400 another charset', 400, { headers: { 'content-type': 'text/plain; charset=utf-16' } }],
    ['400 invalid JSON', 400, { raw: '{' }],
    ['400 no object', 400, { raw: '[]' }],
    [
      '400 no preview_id, before the confirmation',
      400,
      { body: { preview_id: undefined, confirmation: false } },
    ],
    ['400 preview_id no string', 400, { body: { preview_id: 1, confirmation: false } }],
    [
      '409 confirmation missing, before the token',
      409,
      { body: { preview_id: 'x', confirmation: undefined } },
    ],
    ['409 confirmation false', 409, { body: { confirmation: false } }],
    ['409 confirmation "true"', 409, { body: { confirmation: 'true' } }],
    ['409 confirmation 1', 409, { body: { confirmation: 1 } }],
    ['409 no confirmation_text', 409, { body: { confirmation_text: undefined } }],
    ['409 another confirmation_text', 409, { body: { confirmation_text: `${STATEMENT} ` } }],
    [
      '409 confirmation_text in another case',
      409,
      { body: { confirmation_text: STATEMENT.toLowerCase() } },
    ],
    ['409 confirmation_text no string', 409, { body: { confirmation_text: [STATEMENT] } }],
    ['400 a token of another shape', 400, { body: { preview_id: 'a.b.c' } }],
    ['400 an empty token', 400, { body: { preview_id: '' } }],
    ['400 a preview of another action', 400, { action: 'contact' }],
  ] as const)('%s', async (_name, status, options) => {
    const preview = await previewId(at.service);
    const answer = await expecting({}, () => executeAction(at.service, preview, options));
    expect([answer.status, answer.body.error]).toEqual([status, expect.any(String)]);
    // Nothing was consumed: the preview still executes.
    expect((await executeAction(at.service, preview)).status).toBe(200);
  });

  test('an Idempotency-Key of 200 printable characters is taken', async () => {
    const key = `${' !~'.trim()}${'k'.repeat(198)}`;
    expect((await executeAction(at.service, await previewId(at.service), { key })).status).toBe(
      200,
    );
  });

  test('400 for an expired preview: at ten minutes, not before', async () => {
    const [early, late] = [await previewId(at.service), await previewId(at.service)];
    clock.advance(599_999);
    expect((await executeAction(at.service, early)).status).toBe(200);
    clock.advance(1);
    const answer = await expecting({}, () => executeAction(at.service, late));
    expect([answer.status, answer.body.error]).toEqual([400, problems.expiredPreview.error]);
  });

  test('400 for a preview of another action, though the same party would receive it', async () => {
    const fields = { name: 'A', email: 'a@b.co', subject: 'S', message: 'M' };
    const preview = await previewId(at.service, 'contact', fields);
    const answer = await expecting({}, () =>
      executeAction(at.service, preview, { action: 'newsletter' }),
    );
    expect([answer.status, answer.body.error]).toEqual([400, problems.otherAction.error]);
  });

  test('400 for a preview that named another party than the one who would receive it now', async () => {
    const elsewhere = await startService({ clock, environment: { CONTRACTOR_NAME: 'Others' } });
    const preview = await previewId(elsewhere);
    await elsewhere.close();
    const answer = await expecting({}, () => executeAction(at.service, preview));
    expect([answer.status, answer.body.error]).toEqual([400, problems.invalidPreview.error]);
  });

  test('401 and 403 challenge: they say what was wrong with the credential, and the scope', async () => {
    const challenge = async (token: string | null) =>
      (await executeAction(at.service, 'x', { token })).headers.get('www-authenticate');
    expect([
      await challenge(null),
      await challenge('wrong'),
      await challenge(tokens.preview),
    ]).toEqual([
      'Bearer realm="agent actions"',
      'Bearer realm="agent actions", error="invalid_token"',
      'Bearer realm="agent actions", error="insufficient_scope", scope="lead:create"',
    ]);
  });

  test('409 retryable where a claim is held and its row cannot be found', async () => {
    const { executions } = at.service.parts;
    const { claim } = executions;
    const preview = await previewId(at.service);
    executions.claim = async () => undefined;
    const answer = await expecting({}, () => executeAction(at.service, preview));
    executions.claim = claim;
    expect([answer.status, answer.body.retryable]).toEqual([409, true]);
  });

  test('two Idempotency-Key are 400, two Authorization are 401', async () => {
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
    expect(await raw(authorization, authorization, 'Idempotency-Key: a')).toMatch(
      /^HTTP\/1.1 401 /,
    );
  });

  test('the rate: 20 in a minute for one address, then 429', async () => {
    const headers = { 'x-forwarded-for': freshAddress() };
    for (let n = 0; n < 20; n += 1)
      expect((await call(at.service, path, { headers })).status).toBe(401);
    const answer = await call(at.service, path, { headers });
    expect([
      answer.status,
      answer.headers.get('retry-after'),
      answer.headers.get('ratelimit-policy'),
    ]).toEqual([429, '60', '"execute";q=20;w=60']);
  });

  test('503 while executions are not configured, after 403 and before 400', async () => {
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

test('arbitrary bodies, keys and previews never give a 5xx, a row or a delivery', async () => {
  await expecting({}, () =>
    fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.json(), fc.string({ unit: 'binary' })),
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
