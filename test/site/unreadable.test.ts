/** Answers while words, templates and pages are unreadable. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { buildApp } from '../../src/app.ts';
import { call } from '../support/agent.ts';
import { freePort } from '../support/free-port.ts';
import { type Service, startService } from '../support/service.ts';
import { exchange } from '../support/wire.ts';

const SECRET_PATH = '/srv/canary/content/words.yaml';

let service: Service;
let url: string;
let close: () => Promise<void>;
beforeAll(async () => {
  service = await startService();
  const unreadable = () => {
    throw new Error(`EMFILE: too many open files, open '${SECRET_PATH}'`);
  };
  const parts = { ...service.parts, frame: unreadable, pages: unreadable };
  const app = await buildApp(service.settings, parts);
  const port = await freePort();
  await app.listen({ host: '127.0.0.1', port });
  url = `http://127.0.0.1:${port}`;
  close = () => app.close();
});
afterAll(async () => {
  await close();
  await service.close();
});
beforeEach(() => {
  service.logs.length = 0;
});

const form = { 'content-type': 'application/x-www-form-urlencoded' };

test.each([
  ['a missing page', '/nothing', { method: 'GET', headers: { accept: 'text/html' } }, 404],
  ['a page', '/quote', { method: 'GET', headers: { accept: 'text/html' } }, 500],
  ['a refused form', '/api/leads', { headers: form, body: 'email=ada' }, 400],
  ['a refused subscription', '/api/subscribe', { headers: form, body: 'email=ada' }, 400],
])(
  'without readable pages, %s gets a plain page with the right status and sentence, and the reason is logged',
  async (_name, path, request, status) => {
    const answer = await call({ url }, path, request);
    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(answer.text).toMatch(/^<!doctype html>.*<h1>\w[^<]+\.<\/h1>/);
    expect(answer.text).not.toContain('canary');
    expect(service.logs.join('')).toMatch(/not rendered.*EMFILE/);
  },
);

test('the service returns a 400 page for malformed chunks of a form, and answers the next request', async () => {
  const [reply] = await exchange(
    url,
    'POST /api/leads HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nTransfer-Encoding: chunked\r\n\r\nZZZ\r\nfoo\r\n',
  );
  expect(reply?.status).toBe(400);
  expect(reply?.body.toString()).toMatch(/^<!doctype html>.*<h1>\w[^<]+\.<\/h1>/);
  expect((await call({ url }, '/healthz', { method: 'GET' })).status).toBe(200);
});
