import { describe, expect, test } from 'vitest';
import { bounds } from '../../src/forms/bounds.ts';
import { call, quote } from '../support/agent.ts';
import { callTool, send } from '../support/mcp.ts';
import { scenario } from '../support/scenario.ts';
import { freshAddress, startService, tokens } from '../support/service.ts';

const started = scenario();
const list = (options: Parameters<typeof send>[3] = {}) =>
  send(started.service, 'tools/list', {}, options);
const raw = (body: string) => list({ raw: body });

describe('before the protocol (beyond §3, HTTP)', () => {
  test.each(['GET', 'DELETE', 'PUT', 'OPTIONS'])('%s is 405 and names POST', async (method) => {
    const headers = { accept: 'text/html', origin: 'https://elsewhere.example' };
    const answer = await call(started.service, '/mcp', { method, headers });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST']);
    expect(answer.body.error).toContain('does not take that method');
    expect(answer.headers.has('access-control-allow-origin')).toBe(false);
  });

  test('a preflight is told nothing by which a browser would let a page call', async () => {
    const { headers } = await call(started.service, '/mcp', {
      method: 'OPTIONS',
      headers: {
        origin: 'https://elsewhere.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type',
      },
    });
    const told = [...headers.keys()].filter((name) => name.startsWith('access-control-'));
    expect(told).toEqual([]);
  });

  test.each(['https://elsewhere.example', 'null', ''])('the origin %o is 403', async (origin) => {
    await started.expecting({}, async () => {
      const answer = await list({ headers: { origin }, token: null });
      expect([answer.status, Object.keys(answer.body)]).toEqual([403, ['error']]);
    });
  });

  test('the origin of the service itself is let in, and told nothing about CORS', async () => {
    const { status, headers } = await list({ headers: { origin: started.service.url } });
    expect([status, headers.has('access-control-allow-origin')]).toEqual([200, false]);
  });

  test.each([
    [null, ''],
    ['unknown', ', error="invalid_token"'],
    [tokens.expired, ', error="invalid_token"'],
  ])('the token %o is 401 with a plain challenge', async (token, error) => {
    const { status, headers, body } = await list({ token });
    expect([status, Object.keys(body)]).toEqual([401, ['error']]);
    expect(headers.get('www-authenticate')).toBe(`Bearer realm="agent actions"${error}`);
  });

  test('any valid credential lists, whatever its scope', async () => {
    for (const token of [tokens.preview, tokens.create]) {
      expect((await list({ token })).body.result.tools).toHaveLength(7);
    }
  });

  test.each([
    ['no JSON', 400, '{'],
    ['a number', 400, '5'],
    ['nothing', 400, ''],
    ['an array that is none', 400, '[1'],
    ['too much', 413, JSON.stringify({ a: 'x'.repeat(bounds.jsonBodyBytes) })],
  ])('%s is %i with a sentence', async (_name, status, body) => {
    const answer = await raw(body);
    expect([answer.status, Object.keys(answer.body)]).toEqual([status, ['error']]);
  });

  test.each([[[]], [[{ jsonrpc: '2.0', id: 1, method: 'tools/list' }]]])(
    'the array %j is −32600 in every revision',
    async (body) => {
      for (const revision of ['2026-07-28', '2025-11-25', '2025-06-18', null]) {
        const answer = await list({
          raw: JSON.stringify(body),
          headers: { 'mcp-protocol-version': revision },
        });
        expect([answer.status, answer.body.error.code]).toEqual([400, -32_600]);
      }
    },
  );

  test.each([
    ['text/plain', 'text/html'],
    ['application/x-www-form-urlencoded', '*/*'],
    [null, 'application/json'],
  ])('content type %o and Accept %o are taken', async (type, accept) => {
    const { status, body } = await list({ headers: { 'content-type': type, accept } });
    expect([status, body.result.tools.length]).toEqual([200, 7]);
  });

  test('120 requests a minute of one address are answered, then 429', async () => {
    const headers = { 'x-forwarded-for': freshAddress() };
    // In this order: what has no credential counts as well.
    for (let n = 0; n < bounds.rates.mcp.limit; n += 1) await list({ headers, token: null });
    const refused = await list({ headers });
    expect([refused.status, Object.keys(refused.body)]).toEqual([429, ['error']]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  test('no answer is kept by anybody', async () => {
    for (const answer of [await list(), await list({ token: null })]) {
      expect(answer.headers.get('cache-control')).toBe('no-store');
    }
  });

  test('nothing below /.well-known/oauth- is a page: a client looks for JSON there', async () => {
    for (const name of ['oauth-protected-resource', 'oauth-authorization-server/mcp']) {
      const path = `/.well-known/${name}`;
      const answer = await call(started.service, path, {
        method: 'GET',
        headers: { accept: 'text/html' },
      });
      expect([answer.status, Object.keys(answer.body)]).toEqual([404, ['error']]);
    }
  });
});

describe('faults of the protocol are errors of JSON-RPC', () => {
  const VERSION = 'io.modelcontextprotocol/protocolVersion';
  test.each([
    ['a header that differs from the body', 400, -32_020, { headers: { 'mcp-method': 'ping' } }],
    ['no header', 400, -32_020, { headers: { 'mcp-method': null } }],
    [
      'a revision that is not served',
      400,
      -32_022,
      {
        headers: { 'mcp-protocol-version': '2099-01-01' },
        parameters: {
          _meta: { [VERSION]: '2099-01-01', 'io.modelcontextprotocol/clientCapabilities': {} },
        },
      },
    ],
  ])('%s is %i, %i', async (_name, status, code, options) => {
    const answer = await list(options);
    expect([answer.status, answer.body.error.code]).toEqual([status, code]);
  });

  test('an unknown method is 404, −32601; listening for changes is one, for there are none', async () => {
    for (const method of ['resources/list', 'nothing/like-it', 'subscriptions/listen']) {
      const { status, body } = await send(started.service, method, { notifications: {} });
      expect([method, status, body.error.code]).toEqual([method, 404, -32_601]);
    }
  });

  test('an unknown tool is −32602 and repeats nothing of the call', async () => {
    const error = await callTool(started.service, '<b>ada@example.com</b>', quote);
    expect(error.code).toBe(-32_602);
    expect(JSON.stringify(error)).not.toContain('ada@example.com');
  });
});

describe('clients of the revisions before are served without a session', () => {
  test.each(['2025-11-25', '2025-06-18'])('%s', async (revision) => {
    const ask = (method: string, params?: object) =>
      list({
        headers: { 'mcp-protocol-version': revision, 'mcp-method': null },
        raw: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }),
      });
    const result = ({ text }: { text: string }) =>
      JSON.parse(text.replace(/^event: message\ndata: /, '')).result;

    const begun = await ask('initialize', {
      protocolVersion: revision,
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    });
    expect(result(begun)).toMatchObject({ protocolVersion: revision, capabilities: { tools: {} } });
    expect(begun.headers.has('mcp-session-id')).toBe(false);
    expect(result(await ask('tools/list')).tools).toHaveLength(7);
    const called = await ask('tools/call', { name: 'preview_homeowner_quote', arguments: quote });
    expect(result(called).structuredContent.fields).toEqual(quote);
  });
});

describe('MCP=off', () => {
  test('there is nothing at /mcp', async () => {
    const service = await startService({ environment: { MCP: 'off' } });
    for (const method of ['GET', 'POST']) {
      expect((await call(service, '/mcp', { method })).status).toBe(404);
    }
    await service.close();
  });
});
