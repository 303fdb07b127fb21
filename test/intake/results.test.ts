/** The results of the two forms, from which the route makes its answer: time, metric and whether it may have arrived. */
import { describe, expect, test } from 'vitest';
import { acceptLead } from '../../src/intake/leads.ts';
import { subscribe } from '../../src/intake/subscribe.ts';
import { post } from '../support/forms.ts';
import { scenario } from '../support/scenario.ts';
import { errorsIn, startService } from '../support/service.ts';
import { answering } from '../support/upstream.ts';

const at = scenario();
const lead = { form: 'contact', name: 'Ada', email: 'ada@example.com', subject: 'Walls', message: 'Two rooms.' };
const TOOK_MS = 120;

/** Calls a handler with a JSON form, while the upstream takes `TOOK_MS`. Returns its result and the counted metrics. */
async function resultOf(accept: typeof acceptLead | typeof subscribe, fields: Record<string, string>) {
  const counted: unknown[][] = [];
  const countSubscriber = (...of: unknown[]) => void counted.push(of);
  const parts = { ...at.service.parts, metrics: { ...at.service.parts.metrics, countSubscriber } };
  const bytes = Buffer.from(JSON.stringify(fields));
  const { answer } = at.upstream;
  at.upstream.answer = (response, request) => {
    at.clock.advance(TOOK_MS);
    answer(response, request);
  };
  const result = await accept(parts, {
    contentType: 'application/json',
    takeFromLimit: async () => ({ exceeded: false, resetSeconds: 0 }),
    readBody: async () => ({ kind: 'read', bytes }),
    traceparent: undefined,
  });
  return { result, counted };
}

describe('the result of an accepted form', () => {
  const upstream = () => ({ tookMs: TOOK_MS, answeredAt: at.clock.monotonic() });

  test('has the time from reading a lead to the upstream’s answer', async () => {
    const { result } = await resultOf(acceptLead, lead);
    expect(result).toMatchObject({ kind: 'accepted', event: 'lead.created', upstream: upstream() });
  });

  test('has the same time for a subscription, and counts a new subscriber once as pending', async () => {
    const reader = { email: 'new-reader@example.com', privacy: 'on' };
    const first = await resultOf(subscribe, reader);
    expect(first.result).toEqual({ kind: 'accepted', event: 'subscriber.created', upstream: upstream() });
    expect(first.counted).toEqual([['pending']]);
    await at.service.parts.storage.write((tx) =>
      tx.updateTable('subscribers').set({ status: 'confirmed' }).where('email', '=', reader.email).execute(),
    );
    const again = await resultOf(subscribe, reader);
    expect([again.result.kind, again.counted]).toEqual(['accepted', []]);
  });
});

test.each([
  [500, 'We stored your submission and will deliver it. Its delivery is not confirmed yet.'],
  [422, 'We could not deliver your submission, but the site operator has it.'],
])('a lead that the upstream answers with %i is stored, and gets a reference', async (status, sentence) => {
  at.upstream.answer = answering(status);
  const answer = await post(at.service, '/api/leads', 'json', { ...lead, message: sentence });
  expect([answer.status, answer.headers.has('submission-reference')]).toEqual([502, true]);
  expect(answer.body.error).toBe(`${sentence} You don’t need to send it again.`);
});

test('a refused page that can’t be made shows the problem alone, and the log has the error', async () => {
  const pages = () => Promise.reject(new Error('no pages'));
  const service = await startService({ parts: { pages } });
  const answer = await post(service, '/api/leads', 'urlencoded', { form: 'contact' });
  const [line, ...others] = errorsIn(service.logs).map((text) => JSON.parse(text));
  await service.close();
  expect([answer.status, answer.headers.get('content-type')]).toEqual([400, 'text/html; charset=utf-8']);
  expect(answer.text).toContain('<h1>');
  expect(others).toEqual([]);
  expect(line).toMatchObject({ msg: 'page of refused form not rendered', err: { message: 'no pages' } });
});
