import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildApp } from '../../src/app.ts';
import { call, executeAction, previewId, quote } from '../support/agent.ts';
import { expectEffects } from '../support/outcomes.ts';
import { errorsIn, type Service, startService, tokens } from '../support/service.ts';
import { exchange, expectAnswer, openWire, type Reply } from '../support/wire.ts';

let service: Service;
beforeAll(async () => {
  service = await startService({ environment: { OPERATOR_CONTACT: 'help@paint.example' } });
});
afterAll(async () => {
  await service.close();
});

const close = 'Connection: close\r\n';
const post = (path: string, headers: string, body = '') => `POST ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n${body}`;
const bearer = `Authorization: Bearer ${tokens.both}\r\n`;
const json = 'Content-Type: application/json\r\n';
const lead = JSON.stringify({ form: 'homeowner_quote', ...quote });
const length = (body: string) => `Content-Length: ${Buffer.byteLength(body)}\r\n`;
const statuses = (replies: Reply[]) => replies.map(({ status }) => status);

/** Returns the logged errors. */
const errorsLogged = () => errorsIn(service.logs);

describe('requests whose end is ambiguous (ASVS 4.2.1)', () => {
  const marked = `GET /llms.txt HTTP/1.1\r\nHost: x\r\n${close}\r\n`;
  const first = 'POST /api/leads HTTP/1.1\r\n';
  test.each([
    [
      'Content-Length and Transfer-Encoding',
      `${first}Host: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    [
      'Transfer-Encoding and Content-Length',
      `${first}Host: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`,
    ],
    ['two Content-Length', `${first}Host: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcde`],
    ['a list of Content-Length', `${first}Host: x\r\nContent-Length: 5, 6\r\n\r\nabcde`],
    ['a signed Content-Length', `${first}Host: x\r\nContent-Length: +5\r\n\r\nabcde`],
    ['Transfer-Encoding: xchunked', `${first}Host: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`],
    [
      'Transfer-Encoding: chunked, identity',
      `${first}Host: x\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`,
    ],
    ['Transfer-Encoding: gzip, chunked', `${first}Host: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    ['a space before the colon', `${first}Host: x\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n`],
    ['a bare LF after a header', `${first}Host: x\nContent-Length: 0\r\n\r\n`],
    ['bare LF everywhere', `${first.trim()}\nHost: x\nContent-Length: 0\n\n`],
    ['a bare CR in a header', `${first}Host: x\r\nX-A: b\rc\r\nContent-Length: 0\r\n\r\n`],
    ['a folded header', `${first}Host: x\r\nX-A: b\r\n c\r\nContent-Length: 0\r\n\r\n`],
    ['NUL in a header', `${first}Host: x\r\nX-A: b\0c\r\nContent-Length: 0\r\n\r\n`],
    ['an invalid chunk size', `${first}Host: x\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\n`],
    ['no Host', `${first}Content-Length: 0\r\n\r\n`],
    ['two Host', `${first}Host: x\r\nHost: y\r\nContent-Length: 0\r\n\r\n`],
    ['HTTP/0.9', 'GET /llms.txt\r\n\r\n'],
    ['HTTP/2 without an upgrade', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ])('%s: return 400, and the request after them is not answered', async (_name, bytes) => {
    const replies = await expectEffects(service, undefined, {}, () => exchange(service.url, bytes + marked));
    expect(statuses(replies)).toEqual([400]);
    expectAnswer(replies[0], 400);
  });

  test('are answered, and the request after them too, once their end is unambiguous', async () => {
    const replies = await expectEffects(service, undefined, { forwarded: 1 }, () =>
      exchange(service.url, `${post('/api/leads', json + length(lead), lead)}${marked}`),
    );
    expect(statuses(replies)).toEqual([200, 200]);
  });
});

describe('limits and timeouts', () => {
  test.each([
    ['one header', `X-A: ${'a'.repeat(20_000)}\r\n`],
    ['many headers', 'X-A: b\r\n'.repeat(3_000)],
  ])('returns 431 for %s over 16 KB', async (_name, headers) => {
    const [reply] = await exchange(service.url, `GET / HTTP/1.1\r\nHost: x\r\n${headers}\r\n`);
    expectAnswer(reply, 431);
  });

  test('are 10 s for headers and 30 s for a body, checked every second (reference §3.5)', async () => {
    const app = await buildApp(service.settings, service.parts);
    const { server } = app;
    const every = Reflect.get(server, 'connectionsCheckingInterval');
    expect([server.headersTimeout, server.requestTimeout, every]).toEqual([10_000, 30_000, 1_000]);
    await app.close();
  });

  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
  const chunked = 'Transfer-Encoding: chunked\r\n';

  test('accepts a chunked body within the limits', async () => {
    const body = chunk(lead.slice(0, 7)) + chunk(lead.slice(7)) + chunk('');
    const [reply] = await expectEffects(service, undefined, { forwarded: 1 }, () =>
      exchange(service.url, post('/api/leads', json + chunked + close, body)),
    );
    expectAnswer(reply, 200);
  });

  test.each([
    ['/api/leads', 'Content-Type: application/x-www-form-urlencoded\r\n', 32_001],
    ['/api/subscribe', 'Content-Type: application/x-www-form-urlencoded\r\n', 8_001],
    ['/api/leads', json, 512 * 1024 + 1],
    ['/api/agent/actions/contact/preview', bearer, 512 * 1024 + 1],
  ])(
    '%s, %sreturns 413 for a chunked body over the limit, and keeps the connection usable',
    async (path, headers, size) => {
      const wire = await openWire(service.url);
      const pieces = Math.ceil(size / 1_000);
      wire.write(post(path, headers + chunked, chunk('a'.repeat(1_000)).repeat(pieces)));
      expectAnswer((await wire.answers(1))[0], 413);
      wire.write(`${chunk('')}GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n`);
      expectAnswer((await wire.answers(2))[1], 200);
      wire.socket.destroy();
    },
  );

  test.each([
    ['/api/agent/actions/homeowner_quote/preview', `${bearer}${json}`, 'one JSON object'],
    ['/api/leads', json, 'one JSON object'],
    ['/api/leads', 'Content-Type: application/x-www-form-urlencoded\r\n', 'missing'],
  ])(
    'treats a POST to %s without Content-Length and Transfer-Encoding as empty, with the headers %j',
    async (path, headers, says) => {
      const wire = await openWire(service.url);
      wire.write(post(path, headers));
      const [first] = await wire.answers(1);
      expect(expectAnswer(first, 400).body).toContain(says);
      wire.write(`GET /llms.txt HTTP/1.1\r\nHost: x\r\n\r\n`);
      expect(statuses(await wire.answers(2))).toEqual([400, 200]);
      wire.socket.destroy();
    },
  );

  test.each([
    ['UTF-8', '; charset=utf-8', 200],
    ['another charset', '; charset=latin1', 400],
    ['UTF-8 in an odd spelling', '; charset="ut\\f-8"', 200],
  ])('checks the charset of a second Content-Type header: %s (%s) returns %i', async (_which, charset, status) => {
    const types = `Content-Type: application/json; charset=utf-8\r\nContent-Type: a/b${charset}\r\n`;
    const path = '/api/agent/actions/homeowner_quote/preview';
    const headers = bearer + types + length(lead) + close;
    const [reply] = await exchange(service.url, post(path, headers, lead));
    expectAnswer(reply, status);
  });

  test('returns 401 before a body of 500 KB is read, and keeps the connection usable', async () => {
    const wire = await openWire(service.url);
    const body = 'a'.repeat(500_000);
    wire.write(post('/api/agent/actions/contact/preview', length(body)));
    expectAnswer((await wire.answers(1))[0], 401);
    wire.write(`${body}GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n`);
    expectAnswer((await wire.answers(2))[1], 200);
    wire.socket.destroy();
  });
});

describe('methods and addresses', () => {
  const paths = [
    ['/api/leads', 'POST'],
    ['/api/subscribe', 'POST'],
    ['/api/agent/actions/contact/preview', 'POST'],
    ['/api/agent/actions/contact/execute', 'POST'],
    ['/api/agent/manifest', 'GET, HEAD'],
    ['/api/agent/content', 'GET, HEAD'],
    ['/.well-known/service-agent.json', 'GET, HEAD'],
    ['/llms.txt', 'GET, HEAD'],
    ['/openapi.json', 'GET, HEAD'],
    ['/quote', 'GET, HEAD'],
    ['/quote.md', 'GET, HEAD'],
    ['/', 'GET, HEAD'],
    ['/healthz', 'GET, HEAD'],
  ] as const;
  test('allow GET and HEAD for the path of a receipt', async () => {
    for (const id of ['01a20f90-b870-719e-92c7-53d33a646f0b', 'contact_id']) {
      const request = `POST /api/agent/receipts/${id} HTTP/1.1\r\nHost: x\r\n${close}\r\n`;
      const [reply] = await exchange(service.url, request);
      expect(expectAnswer(reply, 405).headers.allow).toBe('GET, HEAD');
    }
  });

  const methods = ['HEAD', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY', 'PUT', 'DELETE', 'GET', 'POST'];
  test.each(paths)('%s allows %s, and returns 405 with Allow for every other method', async (path, allow) => {
    for (const method of methods) {
      if (allow.split(', ').includes(method)) continue;
      for (const body of ['', `${json}Content-Length: 2\r\n\r\n{}`]) {
        const request = `${method} ${path} HTTP/1.1\r\nHost: x\r\n${close}${body || '\r\n'}`;
        const [reply] = await exchange(service.url, request);
        expect([method, expectAnswer(reply, 405).headers.allow]).toEqual([method, allow]);
      }
    }
    for (const written of [`http://x${path}`, `${path}#part`, `${path}?a=1#b`]) {
      const [reply] = await exchange(service.url, `PATCH ${written} HTTP/1.1\r\nHost: x\r\n${close}\r\n`);
      expect([written, expectAnswer(reply, 405).headers.allow]).toEqual([written, allow]);
    }
    if (!allow.includes('HEAD')) return;
    const [head] = await exchange(service.url, `HEAD ${path} HTTP/1.1\r\nHost: x\r\n${close}\r\n`);
    expect(expectAnswer(head, 200).body).toBe('');
  });

  test('reach the same route with a percent-encoded path', async () => {
    for (const path of ['/api/%6ceads', '/api/agent/actions/%63ontact/preview', '/%71uote.md']) {
      const [reply] = await exchange(service.url, `PATCH ${path} HTTP/1.1\r\nHost: x\r\n${close}\r\n`);
      expectAnswer(reply, 405);
    }
  });

  test('return 400 for an unknown method', async () => {
    const [reply] = await exchange(service.url, `FOO / HTTP/1.1\r\nHost: x\r\n${close}\r\n`);
    expectAnswer(reply, 400);
  });

  test('return 404 for an unknown path as JSON below /api, and as a page elsewhere if accepted', async () => {
    const headers = { accept: 'text/html,*/*;q=0.8' };
    const api = await call(service, '/api/nothing', { method: 'GET', headers });
    expect([api.status, api.body]).toEqual([404, { error: expect.any(String) }]);
    const page = await call(service, '/nothing', { method: 'GET', headers });
    expect([page.status, page.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
    expect(page.text).toMatch(/<h1/);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    const plain = await call(service, '/nothing', { method: 'GET' });
    expect([plain.status, plain.body]).toEqual([404, { error: expect.any(String) }]);
  });

  test.each([
    ['/%zz', 400],
    ['/%', 400],
    ['/api/agent/actions/%zz/preview', 400],
    ['/api/agent/actions/%ff/preview', 400],
    [`/api/agent/actions/${'a'.repeat(10_000)}/preview`, 404],
    ['/api/agent/actions/__proto__/preview', 404],
    ['/api/agent/actions/contact%2fpreview', 404],
    ['//', 404],
    ['//api//leads', 404],
    ['//evil.example/api/leads', 404],
    ['/%2e%2e/%2e%2e/etc/passwd', 404],
    ['/../../etc/passwd', 404],
    ['/api%2fleads', 404],
    ['/api/leads//', 404],
    ['/api/leads%00', 404],
    ['/api/leads;a=b', 404],
    ['/assets/..%2f..%2fpackage.json', 404],
    ['*', 404],
  ])('%s: return %i without repeating the path', async (path, status) => {
    const [reply] = await exchange(service.url, post(path, `${length('')}${close}`));
    const { body } = expectAnswer(reply, status);
    expect(Object.keys(JSON.parse(body))).toEqual(['error']);
    if (path.length > 2) expect(body).not.toContain(path);
  });
});

describe('order of answers on a connection', () => {
  test('sends 100 for Expect: 100-continue, and ignores any other expectation', async () => {
    const wire = await openWire(service.url);
    wire.write(post('/api/leads', `${json}${length(lead)}Expect: 100-continue\r\n`));
    expect(statuses(await wire.answers(1))).toEqual([100]);
    wire.write(lead);
    expectAnswer((await wire.answers(2))[1], 200);
    wire.socket.destroy();
    const other = post('/api/leads', `${json}${length(lead)}Expect: 200-maybe\r\n${close}`, lead);
    expectAnswer((await exchange(service.url, other))[0], 200);
  });

  test('follows the order of pipelined requests', async () => {
    const paths = ['/healthz', '/nothing', '/readyz', '/llms.txt'];
    const requests = paths.map(
      (path, n) => `GET ${path} HTTP/1.1\r\nHost: x\r\n${n === paths.length - 1 ? close : ''}\r\n`,
    );
    const replies = await exchange(service.url, requests.join(''));
    expect(statuses(replies)).toEqual([200, 404, 200, 200]);
    const ids = replies.map(({ headers }) => headers['x-request-id']);
    expect(new Set(ids).size).toBe(4);
  });

  test('puts the answer to a broken request after the answer to the valid request before it', async () => {
    const whole = post('/api/leads', json + length(lead), lead);
    const replies = await exchange(service.url, `${whole}GARBAGE\r\n\r\n`);
    expect(statuses(replies)).toEqual([200, 400]);
    expectAnswer(replies[1], 400);
  });

  test('contains no second answer if a body becomes invalid after its answer', async () => {
    const wire = await openWire(service.url);
    wire.write(post('/api/agent/actions/contact/preview', 'Transfer-Encoding: chunked\r\n', '1\r\na\r\n'));
    expectAnswer((await wire.answers(1))[0], 401);
    wire.write('GARBAGE\r\n');
    expect(statuses(await wire.closed())).toEqual([401]);
  });

  test.each([
    ['/api/leads', json],
    ['/api/subscribe', 'Content-Type: multipart/form-data; boundary=b\r\n'],
    ['/api/agent/actions/contact/preview', bearer],
    ['/api/agent/actions/contact/execute', `${bearer}Idempotency-Key: gone\r\n`],
  ])('%s: a client that disconnects during its body leaves no effect', async (path, headers) => {
    await expectEffects(service, undefined, {}, async () => {
      const before = service.logs.length;
      const wire = await openWire(service.url);
      wire.write(post(path, headers + length(lead), lead.slice(0, 20)));
      await expect.poll(() => wire.socket.bytesWritten).toBeGreaterThan(0);
      await new Promise((resolve) => setTimeout(resolve, 20));
      wire.socket.resetAndDestroy();
      await expect.poll(() => service.logs.slice(before).join()).toContain('"status":499');
    });
  });

  test('settles an execution whose client disconnects before the answer', async () => {
    const preview = await previewId(service);
    await expectEffects(service, undefined, { forwarded: 1, rows: 1 }, async () => {
      const body = JSON.stringify({
        preview_id: preview,
        confirmation: true,
        confirmation_text: 'I confirm that Service may use these details for the selected action.',
      });
      const wire = await openWire(service.url);
      const headers = `${bearer}Idempotency-Key: left\r\n${length(body)}`;
      wire.write(post('/api/agent/actions/homeowner_quote/execute', headers, body));
      wire.socket.end();
      const settled = () => service.logs.some((line) => line.includes('execution settled'));
      await expect.poll(settled).toBe(true);
    });
    const again = await executeAction(service, preview, { key: 'left' });
    expect([again.status, again.body.replay]).toEqual([200, true]);
  });

  test('the service logged no error in all tests of this file', () => {
    expect(errorsLogged()).toEqual([]);
  });
});
