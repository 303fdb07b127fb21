/** Incomplete requests get one answer in the format of their route, and a log line. */
import { once } from 'node:events';
import { connect as connectTo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Service, startService, tokens } from '../support/service.ts';
import { until } from '../support/until.ts';
import { exchange, expectAnswer, openWire } from '../support/wire.ts';

let service: Service;
beforeAll(async () => {
  service = await startService({ environment: { OPERATOR_CONTACT: 'help@paint.example' } });
});
afterAll(() => service.close());

const close = 'Connection: close\r\n';
const bearer = `Authorization: Bearer ${tokens.both}\r\n`;
const post = (path: string, headers: string, body = '') => `POST ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n${body}`;

test('the service returns 400 for CONNECT, also if the client resets or never closes the connection', async () => {
  const connect = 'CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n';
  const [reply] = await exchange(service.url, connect);
  expectAnswer(reply, 400);
  // A connection that is reset before its answer. Node emits its error without a listener.
  for (let count = 0; count < 20; count += 1) {
    const wire = await openWire(service.url);
    wire.write(connect);
    wire.socket.resetAndDestroy();
  }
  // A connection that its client never closes. `closed` waits for the service.
  const held = connectTo({
    port: Number(new URL(service.url).port),
    host: '127.0.0.1',
    allowHalfOpen: true,
  });
  held.resume().write(connect);
  await once(held, 'end');
  const [after] = await exchange(service.url, `GET /healthz HTTP/1.1\r\nHost: x\r\n${close}\r\n`);
  expectAnswer(after, 200);
  held.on('error', () => {});
  // A write resets a connection that the service has closed.
  await until(() => held.destroyed || (held.write('x') && false));
});

test('the log line of a broken request has the request id of its answer', async () => {
  const before = service.logs.length;
  const cut = post('/api/leads', 'Content-Type: application/json\r\nContent-Length: 9\r\n', '{');
  for (const [bytes, method] of [
    [cut, 'POST'],
    ['GARBAGE\r\n\r\n', undefined],
    ['CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n', undefined],
  ] as const) {
    const wire = await openWire(service.url);
    wire.write(bytes);
    wire.socket.end();
    const [reply] = await wire.closed();
    const id = expectAnswer(reply, 400).headers['x-request-id'];
    const lines = () => service.logs.slice(before).map((line) => JSON.parse(line));
    await until(() => lines().some(({ requestId }) => requestId === id));
    const own = lines().filter(({ requestId }) => requestId === id);
    expect(own.map((line) => [line.method, line.status])).toEqual([[method, 400]]);
  }
});

test('the answer to a broken request for a machine-readable document is JSON, whatever its Accept header is', async () => {
  for (const path of ['/llms.txt', '/openapi.json', '/agents/openapi.json', '/schemas/x.json']) {
    const twoHosts = `GET ${path} HTTP/1.1\r\nHost: x\r\nHost: y\r\nAccept: text/html\r\n\r\n`;
    const [reply] = await exchange(service.url, twoHosts);
    expect(expectAnswer(reply, 400).headers['content-type']).toMatch(/^application\/json/);
  }
});

test('the answer to an incomplete body is JSON for a preview, and a page for a native form (reference §3.5)', async () => {
  const cut = async (path: string, type: string) => {
    const wire = await openWire(service.url);
    wire.write(post(path, `${bearer}Content-Type: ${type}\r\nContent-Length: 100\r\n`, 'email='));
    wire.socket.end();
    const [reply] = await wire.closed();
    return expectAnswer(reply, 400);
  };
  for (const path of ['/api/leads', '/api/subscribe']) {
    for (const type of ['application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
      const { headers, body } = await cut(path, type);
      expect(headers['content-type']).toBe('text/html; charset=utf-8');
      expect(body).toMatch(/<h1[\s\S]*help@paint\.example/);
      expect(headers['content-security-policy']).toContain("default-src 'none'");
    }
    const { headers } = await cut(path, 'application/json');
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
  }
  const { headers } = await cut('/api/agent/actions/contact/preview', 'multipart/form-data');
  expect(headers['content-type']).toBe('application/json; charset=utf-8');
});
