import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call } from '../../support/agent.ts';
import { injected } from '../../support/injected.ts';
import { attempt, attemptUntilFinal, deliveriesOf, expectPromises, previewLeads } from '../../support/leads.ts';
import { type ServiceProcess, startProcess } from '../../support/process.ts';
import { until } from '../../support/until.ts';
import { type ProgrammableUpstream, startUpstream } from '../../support/upstream.ts';

/** `busy_timeout`, plus a second for a busy machine. */
const ANSWER_WITHIN_MS = 2_000 + 1_000;

let upstream: ProgrammableUpstream;
let service: ServiceProcess;
beforeAll(async () => {
  upstream = await startUpstream();
  service = await startProcess({
    environment: { UPSTREAM_URL: upstream.url },
    preload: [import.meta.resolve('./event-loop.ts')],
  });
});
afterAll(() => upstream.close());

/** Returns the longest delay of the service's event loop since the previous call. */
async function stoodStillMs(): Promise<number> {
  const before = service.stdout().length;
  // Log lines may come before and after this line.
  const said = () => /"stoodStillMs":([\d.]+)}/.exec(service.stdout().slice(before))?.[1];
  service.kill('SIGWINCH');
  await until(() => said() !== undefined);
  return Number(said());
}

// Other work on the machine can delay one run. A lock that blocks the event loop would delay every run.
test('service with a locked SQLite returns 503 to executions within 3 s, replays at once and stays responsive', {
  retry: 2,
}, async (context) => {
  const leads = await previewLeads(service, 20);
  const [kept = expect.fail()] = await previewLeads(service, 1);
  await attemptUntilFinal(service, kept);
  // The first request of a page loads files, which takes time without any lock.
  await call(service, '/', { method: 'GET' });
  const other = new DatabaseSync(join(service.dataDir, 'service.db'));
  other.exec('begin immediate');
  injected(context, 'another process holds SQLite’s lock');
  await stoodStillMs();
  const from = performance.now();
  let answeredAfter = 0;
  const answers = Promise.all(
    leads.map(async (lead) => {
      await attempt(service, lead);
      answeredAfter = performance.now() - from;
    }),
  );
  await sleep(500);
  expect((await call(service, '/', { method: 'GET' })).status).toBe(200);
  const repeatedAt = performance.now();
  await attempt(service, kept);
  expect(kept.answers.at(-1)?.status).toBe(200);
  expect(performance.now() - repeatedAt).toBeLessThan(500);
  await answers;
  const stoodStill = await stoodStillMs();
  other.exec('rollback');
  other.close();

  expect(leads.map(({ answers }) => answers[0]?.status)).toEqual(leads.map(() => 503));
  expect(deliveriesOf(upstream, leads)).toEqual(leads.map(() => 0));
  expect(answeredAfter).toBeLessThan(ANSWER_WITHIN_MS);
  expect(stoodStill).toBeLessThan(50);
  await Promise.all(leads.map((lead) => attemptUntilFinal(service, lead)));
  expectPromises(upstream, leads);
});
