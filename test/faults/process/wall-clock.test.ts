import { globSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { makeLink } from '../../../src/console/links.ts';
import { operatorWith } from '../../console/operator.ts';
import { changeIn } from '../../crash/crashing.ts';
import { codeFor, connect, refresh, statusWith, useCode } from '../../oauth/rig.ts';
import { executeAction, previewAction, quote } from '../../support/agent.ts';
import { post } from '../../support/forms.ts';
import { freePort } from '../../support/free-port.ts';
import { injected } from '../../support/injected.ts';
import { attempt, attemptUntilFinal, deliveriesOf, expectPromises, previewLeads } from '../../support/leads.ts';
import { type ServiceProcess, startProcess, temporaryFolder } from '../../support/process.ts';
import { freshAddress } from '../../support/service.ts';
import { until } from '../../support/until.ts';
import { answering, type ProgrammableUpstream, startUpstream } from '../../support/upstream.ts';

const [library] = globSync('/usr/lib/*/faketime/libfaketime.so.1');
if (library === undefined) {
  if (process.env.TEST_SERVICES === 'required') throw new Error('libfaketime is not there.');
  console.log('skipped: a wall clock that jumps needs libfaketime');
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const steps = [
  { name: 'an hour ahead', ms: HOUR_MS },
  { name: 'an hour back', ms: -HOUR_MS },
  { name: 'three days ahead', ms: 3 * DAY_MS },
  { name: 'three days back', ms: -3 * DAY_MS },
];

describe.runIf(library !== undefined)('service whose wall clock jumps', () => {
  let upstream: ProgrammableUpstream;
  let service: ServiceProcess;
  const offset = join(temporaryFolder(), 'offset');

  /** Sets the offset of the service's wall clock, and waits until its answers show it. */
  async function jump(ms: number): Promise<void> {
    writeFileSync(offset, `${ms < 0 ? '-' : '+'}${Math.abs(ms) / 1000}`);
    await until(async () => {
      const { body } = await previewAction(service);
      return Math.abs(Date.parse(body.created_at) - Date.now() - ms) < 60_000;
    });
  }

  beforeAll(async () => {
    upstream = await startUpstream();
    writeFileSync(offset, '+0');
    const port = await freePort();
    service = await startProcess({
      port,
      environment: {
        BASE_URL: `http://127.0.0.1:${port}`,
        UPSTREAM_URL: upstream.url,
        LD_PRELOAD: library ?? '',
        FAKETIME_TIMESTAMP_FILE: offset,
        FAKETIME_NO_CACHE: '1',
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
        DONT_FAKE_MONOTONIC: '1',
      },
    });
  });
  afterEach(() => {
    upstream.answer = answering(200);
  });
  afterAll(() => upstream.close());

  test.for(steps)(
    'keeps the lease and delivers once if the clock jumps $name during an execution',
    async ({ ms }, context) => {
      await jump(0);
      const [lead] = await previewLeads(service, 1);
      if (lead === undefined) return expect.fail();
      let answer = () => {};
      upstream.answer = (response) => {
        answer = () => response.writeHead(200).end();
      };
      const executing = attempt(service, lead);
      await until(() => deliveriesOf(upstream, [lead])[0] === 1);
      await jump(ms);
      injected(context, `wall clock ${ms < 0 ? '−' : '+'}${Math.abs(ms) / HOUR_MS} h`);
      expect((await attempt(service, lead))?.body.retryable).toBe(true);
      const other = await executeAction(service, lead.preview, { key: 'another' });
      expect(other.body).toEqual({ error: 'preview_already_used' });
      answer();
      expect((await executing)?.status).toBe(200);
      await attemptUntilFinal(service, lead);
      expectPromises(upstream, [lead]);
    },
  );

  test.for(steps)('keeps a rate limit and its remaining time if the clock jumps $name', async ({ ms }, context) => {
    await jump(0);
    const from = { 'x-forwarded-for': freshAddress() };
    const send = () => post(service, '/api/leads', 'json', { email: quote.email }, from);
    for (let sent = 0; sent < 5; sent += 1) expect((await send()).status).toBe(200);
    await jump(ms);
    injected(context, `wall clock ${ms < 0 ? '−' : '+'}${Math.abs(ms) / HOUR_MS} h`);
    const refused = await send();
    expect(refused.status).toBe(429);
    const wait = Number(refused.headers.get('retry-after'));
    expect(wait).toBeGreaterThan(800);
    expect(wait).toBeLessThanOrEqual(900);
  });

  test.for(steps)(
    'refuses a code, an access token and a sign-in link for good if the clock jumps $name',
    async ({ ms }, context) => {
      await jump(0);
      const [code, { access_token, refresh_token }] = [await codeFor(service), await connect(service)];
      let link = '';
      await changeIn(service.dataDir, async (storage) => {
        link = await makeLink(storage, { name: 'Jo', now: new Date(), baseUrl: service.url });
      });
      const refused = async () => [
        (await useCode(service, code)).status,
        await statusWith(service, access_token),
        (await operatorWith(service, '').press(new URL(link).pathname, {})).status,
      ];
      await jump(ms);
      injected(context, `wall clock ${ms < 0 ? '−' : '+'}${Math.abs(ms) / HOUR_MS} h`);
      expect(await refused()).toEqual([400, 401, 403]);
      const renewed = (await refresh(service, refresh_token)).body;
      expect(await statusWith(service, renewed.access_token)).toBe(200);
      await jump(0);
      expect(await refused()).toEqual([400, 401, 403]);
      expect((await refresh(service, renewed.refresh_token)).status).toBe(200);
    },
  );

  test('refuses a preview while the clock is outside its validity, and accepts the preview after a correction', async (context) => {
    await jump(0);
    const [lead] = await previewLeads(service, 1);
    if (lead === undefined) return expect.fail();
    // If the clock is an hour behind, the preview is from the future and is also invalid.
    for (const ms of [HOUR_MS, 3 * DAY_MS, -HOUR_MS]) {
      await jump(ms);
      injected(context, `wall clock ${ms < 0 ? '−' : '+'}${Math.abs(ms) / HOUR_MS} h`);
      expect((await executeAction(service, lead.preview, { key: lead.key })).status).toBe(400);
    }
    await jump(0);
    await attemptUntilFinal(service, lead);
    expect(lead.answers.at(-1)?.status).toBe(200);
    expectPromises(upstream, [lead]);
  });
});
