/** Rates in the headers of answers, and `X-Forwarded-For` from a peer that is no trusted proxy (reference §3.4). */

import type { FastifyRequest } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bounds } from '../../src/forms/bounds.ts';
import { openMemoryLimits } from '../../src/limits/limits.ts';
import { clientReader, rateGiver } from '../../src/server/rate-limits.ts';
import { previewAction, quote } from '../support/agent.ts';
import { testClock } from '../support/clock.ts';
import { postRaw } from '../support/forms.ts';
import { freePort } from '../support/free-port.ts';
import { metricsText } from '../support/metrics.ts';
import { scenario } from '../support/scenario.ts';
import { freshAddress, type Service, startService } from '../support/service.ts';

const WARNING = 'X-Forwarded-For from a peer outside TRUST_PROXY ignored';

describe('an ignored X-Forwarded-For', () => {
  const clock = testClock();
  let metricsPort: number;
  let service: Service;
  beforeAll(async () => {
    metricsPort = await freePort();
    service = await startService({ clock, environment: { TRUST_PROXY: '', METRICS_PORT: String(metricsPort) } });
  });
  afterAll(() => service.close());

  const warnings = () => service.logs.filter((line) => JSON.parse(line).msg === WARNING).length;
  const counted = async () => {
    const text = await metricsText(metricsPort);
    return Number(/^service_forwarded_for_ignored_total (\d+)$/m.exec(text)?.[1]);
  };
  const ask = () => previewAction(service, 'contact', {});

  test('is counted each time, and warned of once a minute', async () => {
    expect(await counted()).toBe(0);
    await fetch(`${service.url}/api/agent/actions/contact/preview`, { method: 'POST' });
    expect([warnings(), await counted()]).toEqual([0, 0]);
    await ask();
    await ask();
    clock.advance(59_999);
    await ask();
    expect([warnings(), await counted()]).toEqual([1, 3]);
    clock.advance(1);
    await ask();
    expect([warnings(), await counted()]).toEqual([2, 4]);
  });
});

describe('the headers of a rate', () => {
  const at = scenario();

  test('name limit, window, what remains and the seconds to the next window', async () => {
    const headers = { 'x-forwarded-for': freshAddress() };
    await previewAction(at.service, 'homeowner_quote', quote, { headers });
    at.clock.advance(10_000);
    const second = await previewAction(at.service, 'homeowner_quote', quote, { headers });
    expect(second.headers.get('ratelimit-policy')).toBe('"preview";q=60;w=60');
    expect(second.headers.get('ratelimit')).toBe('"preview";r=58;t=50');
    expect(at.service.logs.join()).not.toContain(WARNING);
  });

  test('are in the answer to a form only after its limit', async () => {
    const headers = { 'x-forwarded-for': freshAddress() };
    const send = () =>
      postRaw(at.service, '/api/leads', 'json', JSON.stringify({ form: 'homeowner_quote', ...quote }), headers);
    const answers = [];
    for (let n = 0; n <= bounds.rates.leads.limit; n += 1) answers.push(await send());
    const refused = answers.filter(({ status }) => status === 429);
    expect(answers.filter((answer) => answer.headers.has('ratelimit'))).toEqual(refused);
    expect(refused[0]?.headers.get('ratelimit')).toMatch(/^"leads";r=0;t=\d+$/);
  });
});

test('a request that is given back no longer counts for its client', async () => {
  const limits = openMemoryLimits(testClock());
  const request = { headers: {}, socket: { remoteAddress: '192.0.2.1' } } as unknown as FastifyRequest;
  const clientOf = clientReader([]);
  const take = async () => (await limits.take('wrongTokens', clientOf(request).key)).remaining;
  const first = await take();
  await rateGiver(clientOf, limits)('wrongTokens', request);
  expect(await take()).toBe(first);
});
