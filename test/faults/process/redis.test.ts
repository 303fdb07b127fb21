import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { previewAction, quote } from '../../support/agent.ts';
import { redisAnswers, redisUrl } from '../../support/databases.ts';
import { injected } from '../../support/injected.ts';
import { type ServiceProcess, startProcess } from '../../support/process.ts';
import { freshAddress } from '../../support/service.ts';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts';

if (!redisAnswers) console.log('skipped: a Redis that hangs needs a Redis');

/** Limit of previews from one address (reference §17.4). */
const PREVIEWS_A_MINUTE = 60;

describe.runIf(redisAnswers)('service while Redis hangs', () => {
  let proxy: TcpProxy;
  let service: ServiceProcess;
  beforeAll(async () => {
    const { hostname, port } = new URL(redisUrl);
    proxy = await startTcpProxy({ host: hostname, port: Number(port || 6379) });
    service = await startProcess({ environment: { REDIS_URL: `redis://127.0.0.1:${proxy.port}` } });
    await previewAction(service);
  });
  afterAll(() => proxy.close());

  // A busy machine can delay one run. A request that waits for Redis would be late in every run.
  test('answers previews within 100 ms, counts them in its own memory and refuses those above the limit', {
    retry: 2,
  }, async (context) => {
    // The address is random because Redis still has the counts of earlier runs.
    const address = `198.51.${Math.floor(Math.random() * 256)}.${Math.floor(Math.random() * 256)}`;
    const from = { headers: { 'x-forwarded-for': address } };
    const preview = () => previewAction(service, 'homeowner_quote', quote, from);
    expect((await preview()).status).toBe(200);
    proxy.swallowAnswers = true;
    injected(context, 'Redis hangs');
    const durations: number[] = [];
    const statuses: number[] = [];
    for (let asked = 0; asked < PREVIEWS_A_MINUTE; asked += 1) {
      const before = performance.now();
      statuses.push((await preview()).status);
      durations.push(performance.now() - before);
    }
    proxy.swallowAnswers = false;
    proxy.cut();
    expect(statuses).toEqual([...Array(PREVIEWS_A_MINUTE - 1).fill(200), 429]);
    expect(Math.max(...durations)).toBeLessThan(100);
    const elsewhere = { headers: { 'x-forwarded-for': freshAddress() } };
    expect((await previewAction(service, 'newsletter', quote, elsewhere)).status).toBe(200);
  });
});
