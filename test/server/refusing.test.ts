/** Answers while the service shuts down, and to errors that no route expects (reference §18 and §20.6). */
import fastify from 'fastify';
import { expect, test } from 'vitest';
import { openKnownPaths, registerFallbacks } from '../../src/server/fallbacks.ts';
import { StorageUnavailable } from '../../src/storage/database.ts';

const lines: Record<string, unknown>[] = [];
let isRefusing = false;
const app = fastify();
const knownPaths = openKnownPaths();
knownPaths.watch(app);
registerFallbacks(app, {
  renderProblemPage: (problem) => JSON.stringify(problem),
  isRefusing: () => isRefusing,
  log: { error: (entry: object, text: string) => lines.push({ ...entry, text }) } as never,
  knownPaths,
});
let thrown: unknown;
app.get('/healthz', async () => 'alive');
app.get('/readyz', async () => 'not ready');
app.get('/quote', async () => {
  if (thrown !== undefined) throw thrown;
  return 'a page';
});

const ask = async (url: string, headers = {}) => {
  const { statusCode, body } = await app.inject({ url, headers });
  return [statusCode, body] as const;
};

test('while it shuts down, the service answers only questions about its health', async () => {
  isRefusing = true;
  const sentence = 'The service is shutting down. Try again in a moment.';
  for (const url of ['/quote', '/quote/', '/unknown']) {
    const [status, body] = await ask(url);
    expect([status, JSON.parse(body).error]).toEqual([503, sentence]);
  }
  const [status, page] = await ask('/quote', { accept: 'text/html' });
  expect([status, JSON.parse(page)]).toEqual([503, { status: 503, sentence, typed: false }]);
  expect([await ask('/healthz'), await ask('/readyz')]).toEqual([
    [200, 'alive'],
    [200, 'not ready'],
  ]);
  isRefusing = false;
  expect(await ask('/quote')).toEqual([200, 'a page']);
});

test.each([
  [new StorageUnavailable('gone'), 503, 'the store is unavailable'],
  [new Error('Ada’s secret'), 500, 'unexpected error'],
  [
    Object.assign(new Error('a defect'), { code: 'FST_ERR_SEND_INVALID_TYPE', statusCode: 500 }),
    500,
    'unexpected error',
  ],
  [Object.assign(new Error('a defect'), { code: 'FST_ERR_WITHOUT_STATUS' }), 500, 'unexpected error'],
  [Object.assign(new Error('a defect'), { code: 'ENOENT', statusCode: 400 }), 500, 'unexpected error'],
])('an unexpected %s is logged once, and answered with %i without detail', async (error, status, text) => {
  thrown = error;
  const before = lines.length;
  const [answered, body] = await ask('/quote');
  expect(answered).toBe(status);
  expect(body).not.toContain(error.message);
  expect(lines.slice(before)).toEqual([{ err: error, requestId: expect.any(String), text }]);
});

test('a request that Fastify can’t read is refused without a log line', async () => {
  thrown = Object.assign(new Error('too large'), { code: 'FST_ERR_CTP_BODY_TOO_LARGE', statusCode: 413 });
  const before = lines.length;
  expect((await ask('/quote'))[0]).toBe(400);
  expect(lines).toHaveLength(before);
});
