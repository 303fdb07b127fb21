/** Answers while the service shuts down (reference §20.6). */
import fastify from 'fastify';
import { expect, test } from 'vitest';
import { openLog } from '../../src/platform/log.ts';
import { openKnownPaths, registerFallbacks } from '../../src/server/fallbacks.ts';

let isRefusing = false;
const app = fastify();
const knownPaths = openKnownPaths();
knownPaths.watch(app);
registerFallbacks(app, {
  renderProblemPage: (problem) => JSON.stringify(problem),
  isRefusing: () => isRefusing,
  log: openLog('silent'),
  knownPaths,
});
app.get('/healthz', async () => 'alive');
app.get('/readyz', async () => 'not ready');
app.get('/quote', async () => 'a page');

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
