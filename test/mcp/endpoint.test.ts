import { describe, expect, test } from 'vitest';
import { MCP_REVISIONS } from '../../src/discovery/deployment.ts';
import { bounds } from '../../src/forms/bounds.ts';
import { call, quote } from '../support/agent.ts';
import { callTool, send, toolNames } from '../support/mcp.ts';
import { scenario } from '../support/scenario.ts';
import { freshAddress, startService, tokens } from '../support/service.ts';

const started = scenario();
const list = (options: Parameters<typeof send>[3] = {}) => send(started.service, 'tools/list', {}, options);
const raw = (body: string) => list({ raw: body });

describe('/mcp, HTTP checks (reference §8.2)', () => {
  test.each(['GET', 'DELETE', 'PUT', 'OPTIONS'])('returns 405 with Allow: POST for %s', async (method) => {
    const headers = { accept: 'text/html', origin: 'https://elsewhere.example' };
    const answer = await call(started.service, '/mcp', { method, headers });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST']);
    expect(answer.body.error).toContain('does not support this method');
    expect(answer.headers.has('access-control-allow-origin')).toBe(false);
  });

  test.each(['https://elsewhere.example', 'null', ''])('returns 403 for the origin %o', async (origin) => {
    await started.expecting({}, async () => {
      const answer = await list({ headers: { origin }, token: null });
      expect([answer.status, Object.keys(answer.body)]).toEqual([403, ['error']]);
    });
  });

  test('answers a request from the origin of the service itself, without CORS headers', async () => {
    const { status, headers } = await list({ headers: { origin: started.service.url } });
    expect([status, headers.has('access-control-allow-origin')]).toEqual([200, false]);
  });

  test.each([
    [null, ''],
    ['unknown', ', error="invalid_token"'],
    [tokens.expired, ', error="invalid_token"'],
  ])('returns 401 with a Bearer challenge for the token %o', async (token, error) => {
    const { status, headers, body } = await list({ token });
    expect([status, Object.keys(body)]).toEqual([401, ['error']]);
    expect(headers.get('www-authenticate')).toBe(`Bearer realm="agent actions"${error}`);
  });

  test('lists all tools for a credential with any single scope', async () => {
    for (const token of [tokens.preview, tokens.create]) {
      expect((await list({ token })).body.result.tools).toHaveLength(toolNames.length);
    }
  });

  test.each([
    ['a body that is not JSON', 400, '{'],
    ['a body with only a number', 400, '5'],
    ['an empty body', 400, ''],
    ['a body with an unfinished array', 400, '[1'],
    ['a body over the limit', 413, JSON.stringify({ a: 'x'.repeat(bounds.jsonBodyBytes) })],
  ])('%s gets %i and a sentence as error', async (_name, status, body) => {
    const answer = await raw(body);
    expect([answer.status, Object.keys(answer.body)]).toEqual([status, ['error']]);
  });

  test.each([[[]], [[{ jsonrpc: '2.0', id: 1, method: 'tools/list' }]]])(
    'returns −32600 for the array %j in every revision',
    async (body) => {
      for (const revision of [...MCP_REVISIONS, null]) {
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
  ])('answers a request with the content type %o and Accept %o', async (type, accept) => {
    const { status, body } = await list({ headers: { 'content-type': type, accept } });
    expect([status, body.result.tools.length]).toEqual([200, toolNames.length]);
  });

  test('answers 120 requests a minute from one address, then returns 429', async () => {
    const headers = { 'x-forwarded-for': freshAddress() };
    // Requests without a credential count too.
    for (let n = 0; n < bounds.rates.mcp.limit; n += 1) await list({ headers, token: null });
    const refused = await list({ headers });
    expect([refused.status, Object.keys(refused.body)]).toEqual([429, ['error']]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  test('sends Cache-Control: no-store with a success and with a refusal', async () => {
    for (const answer of [await list(), await list({ token: null })]) {
      expect(answer.headers.get('cache-control')).toBe('no-store');
    }
  });

  test('returns 404 as JSON below /.well-known/oauth-, because clients expect JSON there', async () => {
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

describe('/mcp, protocol errors', () => {
  const VERSION = 'io.modelcontextprotocol/protocolVersion';
  test.each([
    ['an Mcp-Method header that differs from the body', 400, -32_020, { headers: { 'mcp-method': 'ping' } }],
    ['no Mcp-Method header', 400, -32_020, { headers: { 'mcp-method': null } }],
    [
      'an unsupported revision of the protocol',
      400,
      -32_022,
      {
        headers: { 'mcp-protocol-version': '2099-01-01' },
        parameters: {
          _meta: { [VERSION]: '2099-01-01', 'io.modelcontextprotocol/clientCapabilities': {} },
        },
      },
    ],
  ])('%s gets %i with the JSON-RPC error %i', async (_name, status, code, options) => {
    const answer = await list(options);
    expect([answer.status, answer.body.error.code]).toEqual([status, code]);
  });

  test('returns 404 with −32601 for an unknown method, and for subscriptions/listen', async () => {
    for (const method of ['prompts/list', 'nothing/like-it', 'subscriptions/listen']) {
      const { status, body } = await send(started.service, method, { notifications: {} });
      expect([method, status, body.error.code]).toEqual([method, 404, -32_601]);
    }
  });

  test('returns −32602 for an unknown tool, and does not repeat its name', async () => {
    const error = await callTool(started.service, '<b>ada@example.com</b>', quote);
    expect(error.code).toBe(-32_602);
    expect(JSON.stringify(error)).not.toContain('ada@example.com');
  });
});

describe('/mcp with MCP=off', () => {
  test('returns 404 for GET and POST', async () => {
    const service = await startService({ environment: { MCP: 'off' } });
    for (const method of ['GET', 'POST']) {
      expect((await call(service, '/mcp', { method })).status).toBe(404);
    }
    await service.close();
  });
});
