import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { securityHeaders } from '../../src/server/security-headers.ts';
import { previewId, quote } from '../support/agent.ts';
import { freshAddress, type Service, startService, tokens } from '../support/service.ts';
import { exchange, expectAnswer } from '../support/wire.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(async () => {
  await service.close();
});

const headersOf = ({ parts: { inline } }: Pick<Service, 'parts'>) => securityHeaders({ https: false, inline });

const request = (line: string, headers = '', body = '') =>
  `${line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Forwarded-For: ${freshAddress()}\r\n` +
  `Content-Length: ${Buffer.byteLength(body)}\r\n${headers}\r\n${body}`;
const json = 'Content-Type: application/json\r\n';
const native = 'Content-Type: application/x-www-form-urlencoded\r\n';
const html = 'Accept: text/html\r\n';
const bearer = `Authorization: Bearer ${tokens.both}\r\n`;
const fields = JSON.stringify(quote);
const lead = new URLSearchParams({ form: 'homeowner_quote', ...quote }).toString();

describe('security headers (reference §3.7)', () => {
  test.each([
    ['a page', 200, request('GET /quote', html)],
    ['a HEAD of a page', 200, request('HEAD /quote', html)],
    ['an unchanged page', 304, request('GET /quote', 'If-None-Match: *\r\n')],
    ['the manifest', 200, request('GET /api/agent/manifest')],
    ['health', 200, request('GET /healthz')],
    ['a preview', 200, request('POST /api/agent/actions/homeowner_quote/preview', bearer + json, fields)],
    ['a preview without a credential', 401, request('POST /api/agent/actions/contact/preview', json, '{}')],
    ['a lead that is no JSON object', 400, request('POST /api/leads', json, '[]')],
    ['a redirect', 303, request('POST /api/leads', native, lead)],
    ['a form that is refused', 400, request('POST /api/leads', native, 'form=contact')],
    [
      'a preflight',
      204,
      request('OPTIONS /api/agent/manifest', 'Origin: https://a.example\r\nAccess-Control-Request-Method: GET\r\n'),
    ],
    ['an unknown path', 404, request('GET /nothing', html)],
    ['an unsupported method', 405, request('DELETE /quote')],
    ['an invalid address', 400, request('GET /%zz')],
    ['a broken request', 400, 'GET /quote HTTP/1.1\r\nno colon\r\n\r\n'],
  ])('are sent with %s', async (_, status, bytes) => {
    const [reply] = await exchange(service.url, bytes);
    expect(expectAnswer(reply, status).headers).toMatchObject(headersOf(service));
  });

  test('are sent with an execution and its replay', async () => {
    const id = await previewId(service);
    const body = JSON.stringify({
      preview_id: id,
      confirmation: true,
      confirmation_text: 'I confirm that Service may use these details for the selected action.',
    });
    const headers = `${bearer}${json}Idempotency-Key: ${id.slice(0, 20)}\r\n`;
    for (const _ of ['executed', 'replayed']) {
      const path = 'POST /api/agent/actions/homeowner_quote/execute';
      const [reply] = await exchange(service.url, request(path, headers, body));
      expect(expectAnswer(reply, 200).headers).toMatchObject(headersOf(service));
    }
  });

  test('are those of reference §3.7, and no header that only old browsers know', () => {
    const inline = { styles: ["'sha256-a'"], scripts: ["'sha256-b'"] };
    const headers = {
      'content-security-policy': [
        "default-src 'none'",
        ...["img-src 'self'", "connect-src 'self'", "form-action 'self'"],
        ...["base-uri 'none'", "frame-ancestors 'none'"],
        ...["style-src 'self' 'sha256-a'", "script-src 'self' 'sha256-b'"],
      ].join(';'),
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'origin-agent-cluster': '?1',
      'referrer-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'SAMEORIGIN',
    };
    expect(securityHeaders({ https: false, inline })).toEqual(headers);
    // The subdomains belong to others.
    const onThisHost = { 'strict-transport-security': 'max-age=31536000' };
    expect(securityHeaders({ https: true, inline })).toEqual({ ...headers, ...onThisHost });
  });
});
