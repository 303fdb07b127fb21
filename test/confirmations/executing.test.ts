/** A confirmation whose submission is on its way: page, agent's view, cancellation and further requests (reference §6.3). */
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { executeAction, previewId } from '../support/agent.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';
import { askToConfirm, lookAt, openPage, pending, pressButton, tokenIn } from './rig.ts';

let upstream: ProgrammableUpstream;
let service: Service;
let held: ServerResponse | undefined;
beforeEach(async () => {
  held = undefined;
  upstream = await startUpstream();
  upstream.answer = (response) => {
    held = response;
  };
  service = await startService({ environment: { UPSTREAM_URL: upstream.url } });
});
afterEach(async () => {
  // An execution whose answer is missing would delay the end of the service.
  await upstream.close();
  await service.close();
});

/** Clicks on send and waits until the upstream has the submission. `end` lets the upstream answer. */
async function sending(path: string) {
  const pressed = pressButton(service, path, 'send');
  await until(async () => held !== undefined);
  const end = async () => {
    held?.writeHead(200).end();
    expect((await pressed).status).toBe(303);
  };
  return { end };
}

test('the page links to itself, and the agent reads a pending confirmation after a second', async () => {
  const { id, path } = await pending(service);
  const { end } = await sending(path);
  const { text } = await openPage(service, path);
  expect(text).toContain('We are sending your details');
  expect(text).toContain(`<a class="button" href="${path}">Check the result</a>`);
  const seen = await lookAt(service, id);
  expect([seen.body.confirmation.status, seen.headers.get('retry-after')]).toEqual(['pending', '1']);
  expect(seen.body.receipt).toBeUndefined();
  await end();
  const ended = await lookAt(service, id);
  expect([ended.body.confirmation.status, ended.headers.get('retry-after')]).toEqual(['submitted', null]);
  expect(ended.headers.get('cache-control')).toBe('no-store');
  expect((await openPage(service, path)).text).not.toContain('Check the result');
});

test('a cancellation, a decline and a further request change nothing', async () => {
  const { id, path, key, preview } = await pending(service);
  const { end } = await sending(path);
  const cancelled = await lookAt(service, id, { method: 'DELETE' });
  const error =
    'This execution is in progress. Wait 1 second, then repeat the same request. If it had an Idempotency-Key, use the same one.';
  expect([cancelled.status, cancelled.body]).toEqual([409, { error, retryable: true }]);
  const declined = await pressButton(service, path, 'decline');
  expect([declined.status, declined.headers.get('location')]).toEqual([303, path]);
  expect((await askToConfirm(service, preview, { key })).body.confirmation).toMatchObject({ id, status: 'pending' });
  const other = await askToConfirm(service, preview);
  expect([other.status, other.body]).toEqual([409, { error: 'preview_already_used' }]);
  await end();
  expect((await lookAt(service, id)).body.confirmation.status).toBe('submitted');
  expect((await executeAction(service, preview, { key })).body.replay).toBe(true);
  expect(upstream.delivered).toHaveLength(1);
});

test('a preview that is being executed directly gets no confirmation', async () => {
  const preview = await previewId(service);
  const executed = executeAction(service, preview, { key: 'direct' });
  await until(async () => held !== undefined);
  const asked = await askToConfirm(service, preview, { key: 'direct' });
  expect([asked.status, asked.body]).toEqual([409, { error: 'preview_already_used' }]);
  held?.writeHead(200).end();
  expect((await executed).status).toBe(200);
});

test('two simultaneous clicks on send get 303, and one submission is sent', async () => {
  upstream.answer = (response) => response.writeHead(200).end();
  const { path } = await pending(service);
  const token = tokenIn((await openPage(service, path)).text) ?? '';
  const pressed = await Promise.all([1, 2].map(() => pressButton(service, path, 'send', { token })));
  expect(pressed.map(({ status }) => status)).toEqual([303, 303]);
  expect(upstream.delivered).toHaveLength(1);
});
