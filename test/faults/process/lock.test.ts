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

/** `busy_timeout`, and room for a busy machine. */
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

/** How long the service's event loop stood still at most, since this was last asked. */
async function stoodStillMs(): Promise<number> {
  const before = service.stdout().length;
  // Lines of the log come before it and after it.
  const said = () => /"stoodStillMs":([\d.]+)}/.exec(service.stdout().slice(before))?.[1];
  service.kill('SIGWINCH');
  await until(() => said() !== undefined);
  return Number(said());
}

// Whatever else runs on the machine makes an event loop late; a lock that blocks it does so each time.
test('another process holds the lock: 20 claims get 503 in time, a replay its receipt at once, and the event loop never stands still for 50 ms', {
  retry: 2,
}, async (context) => {
  const leads = await previewLeads(service, 20);
  const [kept = expect.fail()] = await previewLeads(service, 1);
  await attemptUntilFinal(service, kept);
  // What a page's first request loads is no lock's fault.
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
