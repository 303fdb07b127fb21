/** Pages of the console link to their own routes, even with an absolute request target (RFC 9112 §3.2.2). */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Service } from '../support/service.ts';
import { exchange } from '../support/wire.ts';
import { linkFor, signIn, startWithConsole } from './operator.ts';

let service: Service;
beforeAll(async () => {
  service = await startWithConsole();
});
afterAll(() => service.close());

const ask = async (method: string, target: string, headers = '') => {
  const head = `${method} ${target} HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\nConnection: close\r\n`;
  const [reply] = await exchange(service.url, `${head}${headers}Content-Length: 0\r\n\r\n`);
  return reply ?? expect.fail();
};

test.each(['http://evil.example', 'https://evil.example:8443', 'HTTP://evil.example'])(
  'the form of the sign-in page posts to its own path if the request target starts with %s',
  async (origin) => {
    const link = await linkFor(service);
    const { status, body } = await ask('GET', `${origin}${link}?x=evil.example`);
    expect([status, body.includes('evil.example')]).toEqual([200, false]);
    expect(body).toContain(`action="${link}"`);
  },
);

test('the form of the sign-in page keeps the percent-encoding of the page’s address', async () => {
  const { body } = await ask('GET', '/operator/sign-in/%22%3E%3Cb%3Ex%2F..%2Fy');
  expect(body).toContain('action="/operator/sign-in/%22%3E%3Cb%3Ex%2F..%2Fy"');
});

test.each([
  ['POST', '/operator/leads/x', 403],
  ['GET', '/operator/leads/x', 404],
  ['GET', '/operator/leads?status=pending&cursor=x', 200],
])('the answer to %s http://evil.example%s contains no link to evil.example', async (method, path, status) => {
  const { cookie } = await signIn(service);
  const answer = await ask(method, `http://evil.example${path}`, `Cookie: ${cookie}\r\n`);
  expect([answer.status, answer.body.includes('evil.example')]).toEqual([status, false]);
});
