/** Which requests get problem details: by `Accept` and by route (reference §18.5). */
import { describe, expect, test } from 'vitest';
import { StorageUnavailable } from '../../src/storage/database.ts';
import { call, executeAction, previewAction, previewId, quote } from '../support/agent.ts';
import { scenario } from '../support/scenario.ts';
import { freshAddress, startService, tokens } from '../support/service.ts';
import { exchange, openWire } from '../support/wire.ts';

const PROBLEM = 'application/problem+json';
/** The form routes vary by the origin as well. */
const VARY = /^Accept(?:, Origin)?$/;
const PAGE = 'text/html; charset=utf-8';
const at = scenario({ ALLOWED_ORIGINS: 'https://widget.example' });

/** Sends a GET of a receipt with these lines of `Accept`, and returns the content type. */
async function typeFor(lines: string[]): Promise<string | undefined> {
  const accept = lines.map((line) => `Accept: ${line}\r\n`).join('');
  const address = `X-Forwarded-For: ${freshAddress()}\r\n`;
  const head = `GET /api/agent/receipts/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${address}${accept}\r\n`;
  const [reply] = await exchange(at.service.url, head);
  expect(reply?.status).toBe(401);
  expect(reply?.headers.vary).toBe('Accept');
  return reply?.headers['content-type']?.split(';')[0];
}

describe('an Accept header that names problem details', () => {
  test.each([
    [PROBLEM],
    ['Application/PROBLEM+Json'],
    [`${PROBLEM}; charset=utf-8`],
    [`${PROBLEM};q=0.001`],
    [`${PROBLEM} ; Q=1.000`],
    [`application/json, ${PROBLEM};q=0.1`],
    [`text/html,*/*;q=0.8 , ${PROBLEM}`],
    ['application/json', PROBLEM],
    [PROBLEM, '*/*', 'text/html'],
    ['text/plain', `text/html, ${PROBLEM};q=0.5`, '*/*;q=0'],
  ])('gets them: %s %s %s', async (...lines) => {
    expect(await typeFor(lines)).toBe(PROBLEM);
  });
});

describe('any other Accept header', () => {
  test.each([
    [],
    [''],
    ['*/*'],
    ['application/*'],
    ['application/json'],
    ['application/*+json'],
    ['application/problem'],
    ['application/problem+xml'],
    ['text/problem+json'],
    ['x-application/problem+json'],
    ['application/problem+json-seq'],
    [`${PROBLEM};q=0`],
    [`${PROBLEM}; q=0.000`],
    [`*/*, ${PROBLEM};Q=0`],
    ['application/json', `${PROBLEM};q=0`],
    ['application/*;q=1', '*/*'],
    [`application/json;profile=${PROBLEM}`],
  ])('gets the usual body: %s %s', async (...lines) => {
    expect(await typeFor(lines)).toBe('application/json');
  });
});

type Sent = Parameters<typeof call>[2];
const bearer = { authorization: `Bearer ${tokens.both}` };
const json = { 'content-type': 'application/json' };
const large = 'x'.repeat(512 * 1024 + 1);

describe('routes with problem details', () => {
  test.each<[string, string, Sent, string, number]>([
    ['/api/agent/actions', 'any', {}, 'not_found', 404],
    ['/api/agent/actions/contact', 'POST', {}, 'not_found', 404],
    ['/api/agent/actions/nope/preview', 'POST', {}, 'unknown_action', 404],
    ['/api/agent/actions/nope/preview', 'GET', {}, 'not_found', 404],
    ['/api/agent/actions/contact/preview', 'GET', {}, 'method_not_allowed', 405],
    ['/api/agent/actions/contact/execute', 'DELETE', {}, 'method_not_allowed', 405],
    ['/api/agent/actions/%ff/preview', 'POST', {}, 'bad_request', 400],
    ['/api/agent/actions/contact/preview', 'POST', {}, 'unauthenticated', 401],
    ['/api/agent/actions/contact/preview', 'POST', { headers: bearer, body: '{}' }, 'invalid_fields', 400],
    ['/api/agent/actions/contact/preview', 'POST', { headers: bearer, body: large }, 'body_too_large', 413],
    ['/api/agent/actions/contact/preview/', 'POST', { headers: bearer, body: '[' }, 'invalid_json', 400],
    ['/api/agent/actions/contact/execute', 'POST', { headers: bearer }, 'missing_idempotency_key', 400],
    ['/api/agent/confirmations', 'POST', { headers: bearer }, 'missing_idempotency_key', 400],
    ['/api/agent/confirmations', 'GET', {}, 'method_not_allowed', 405],
    ['/api/agent/confirmations/x', 'GET', { headers: bearer }, 'unknown_confirmation', 404],
    ['/api/agent/confirmations/x', 'DELETE', { headers: bearer }, 'unknown_confirmation', 404],
    ['/api/agent/confirmations/x/y', 'GET', {}, 'not_found', 404],
    ['/api/agent/receipts/x', 'GET', { headers: bearer }, 'unknown_receipt', 404],
    ['/api/agent/receipts/x', 'POST', {}, 'method_not_allowed', 405],
    ['/api/agent/receipts', 'GET', {}, 'not_found', 404],
    ['/api/leads', 'POST', { headers: json, body: '{}' }, 'invalid_form', 400],
    ['/api/leads', 'POST', { headers: json, body: '{"name":1}' }, 'value_not_text', 400],
    ['/api/leads', 'POST', { headers: json, body: large }, 'body_too_large', 413],
    ['/api/leads', 'POST', { headers: { 'content-type': 'text/csv' } }, 'unsupported_content_type', 400],
    ['/api/leads', 'PUT', { headers: json }, 'method_not_allowed', 405],
    ['/api/subscribe', 'POST', { headers: json, body: '{"email":"a@b.co"}' }, 'missing_consent', 400],
    ['/api/subscribe', 'GET', {}, 'method_not_allowed', 405],
  ])('%s %s: %o is %s', async (path, method, sent, code, status) => {
    const headers = { ...sent?.headers, accept: PROBLEM };
    const answer = await call(at.service, path, { ...sent, method: method === 'any' ? 'PATCH' : method, headers });
    expect([answer.status, answer.body.code, answer.body.status]).toEqual([status, code, status]);
    expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
    expect(answer.headers.get('vary')).toMatch(VARY);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.body.request_id).toBe(answer.headers.get('x-request-id'));
    const usual = await call(at.service, path, { ...sent, method: method === 'any' ? 'PATCH' : method });
    expect([usual.status, usual.headers.get('vary')]).toEqual([status, expect.stringMatching(VARY)]);
    expect(Object.keys(usual.body)[0]).toBe('error');
  });

  test('answer an execution in progress with 409, its code, retryable and Retry-After', async () => {
    const { executions } = at.service.parts;
    const { claim } = executions;
    const preview = await previewId(at.service);
    executions.claim = async () => undefined;
    const { status, headers, body } = await executeAction(at.service, preview, { headers: { accept: PROBLEM } });
    executions.claim = claim;
    expect([status, headers.get('retry-after')]).toEqual([409, '1']);
    expect(body).toMatchObject({ code: 'execution_in_progress', retryable: true });
    expect(body.detail).toMatch(/Wait 1 second/);
  });

  test.each<[string, () => never, string, number]>([
    [
      'an unavailable store',
      () => {
        throw new StorageUnavailable('away');
      },
      'store_unavailable',
      503,
    ],
    [
      'a defect',
      () => {
        throw new Error('a defect');
      },
      'internal_error',
      500,
    ],
  ])('answer %s with problem details', async (_name, fail, code, status) => {
    const { receipts } = at.service.parts;
    const { find } = receipts;
    receipts.find = fail;
    const answer = await call(at.service, '/api/agent/receipts/x', {
      method: 'GET',
      headers: { ...bearer, accept: PROBLEM },
    });
    receipts.find = find;
    expect([answer.status, answer.body.code]).toEqual([status, code]);
  });

  test('answer an incomplete body with problem details on an agent route, and as JSON to a form', async () => {
    const cut = async (path: string, headers: string) => {
      const wire = await openWire(at.service.url);
      wire.write(`POST ${path} HTTP/1.1\r\nHost: x\r\n${headers}Content-Length: 100\r\n\r\n{`);
      wire.socket.end();
      const [reply] = await wire.closed();
      return [reply?.status, reply?.headers['content-type'], reply?.headers.vary, reply?.body];
    };
    const accept = `Accept: ${PROBLEM}\r\n`;
    const type = 'Content-Type: application/json\r\n';
    const problem = [400, `${PROBLEM}; charset=utf-8`, 'Accept', expect.stringContaining('"code":"bad_request"')];
    const usual = [400, 'application/json; charset=utf-8', 'Accept', '{"error":"The request could not be read."}'];
    const auth = `Authorization: ${bearer.authorization}\r\n`;
    expect(await cut('/api/agent/actions/contact/preview', auth + accept)).toEqual(problem);
    expect(await cut('/api/agent/actions/contact/preview', auth)).toEqual(usual);
    expect(await cut('/api/leads', type + accept)).toEqual(problem);
    expect(await cut('/api/leads', type)).toEqual(usual);
  });

  test('have Vary: Accept on their other answers too: success, native form, preflight, redirect, HEAD', async () => {
    const origin = { origin: 'https://widget.example' };
    const preflight = { ...origin, 'access-control-request-method': 'POST' };
    const native = new URLSearchParams({ form: 'contact' });
    const answers = [
      await previewAction(at.service),
      await call(at.service, '/api/leads', { headers: json, body: JSON.stringify(quote) }),
      await call(at.service, '/api/leads', { body: new URLSearchParams(quote) }),
      await call(at.service, '/api/leads', { body: native }),
      await call(at.service, '/api/leads', { headers: { ...json, ...origin }, body: JSON.stringify(quote) }),
      await call(at.service, '/api/subscribe', { method: 'OPTIONS', headers: preflight }),
      await call(at.service, '/api/agent/receipts/x/', { method: 'GET' }),
      await call(at.service, '/api/agent/receipts/x', { method: 'HEAD' }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 303, 400, 200, 204, 308, 401]);
    for (const { headers } of answers) expect(headers.get('vary')).toMatch(/^Accept(?:,|$)/);
  });
});

describe('answers that never become problem details', () => {
  test.each<[string, string, Sent, string]>([
    ['a page for a native form', '/api/leads', { body: new URLSearchParams({ form: 'contact' }) }, PAGE],
    [
      'a page for a person who opens a form route',
      '/api/leads',
      { method: 'GET', headers: { accept: `text/html, ${PROBLEM}` } },
      PAGE,
    ],
    ['a refusal before MCP', '/mcp', {}, 'application/json; charset=utf-8'],
    ['a refusal of the open hand-off', '/mcp/open', { body: '{' }, 'application/json; charset=utf-8'],
    ['an unknown path below /api/agent', '/api/agent/other', {}, 'application/json; charset=utf-8'],
    ['a path that only begins like a route', '/api/agent/actionsx/y', {}, 'application/json; charset=utf-8'],
    ['an unknown resource', '/api/agent/content?resource=x', { method: 'GET' }, 'application/json; charset=utf-8'],
    ['a path of the site', '/nothing-here', {}, 'application/json; charset=utf-8'],
    ['a request for the manifest with another method', '/api/agent/manifest', {}, 'application/json; charset=utf-8'],
  ])('%s', async (_name, path, sent, type) => {
    const answer = await call(at.service, path, { ...sent, headers: { accept: PROBLEM, ...sent?.headers } });
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.headers.get('content-type')).toBe(type);
    if (!path.startsWith('/api/leads')) expect(answer.headers.get('vary') ?? '').not.toMatch(/Accept(?!-)/);
  });

  test('an answer that is no refusal', async () => {
    const { status, headers, body } = await previewAction(at.service, 'homeowner_quote', quote, {
      headers: { accept: PROBLEM },
    });
    expect([status, body.ok]).toEqual([200, true]);
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
  });
});

test('`type` of problem details begins with BASE_URL, whatever the request’s Host is', async () => {
  const service = await startService({ environment: { BASE_URL: 'https://paint.example' } });
  const head = `GET /api/agent/receipts/x HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\nAccept: ${PROBLEM}\r\n\r\n`;
  const [reply] = await exchange(service.url.replace(/.*/, `http://127.0.0.1:${service.settings.port}`), head);
  await service.close();
  expect(JSON.parse(reply?.body ?? '').type).toBe('https://paint.example/reference#problem-unauthenticated');
});
