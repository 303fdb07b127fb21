import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Answer, executeAction, previewId, quote } from '../support/agent.ts';
import { injected } from '../support/injected.ts';
import type { ProcessOptions, ServiceProcess } from '../support/process.ts';
import { until } from '../support/until.ts';
import { type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';
import {
  changeIn,
  crashingAt,
  expireLeases,
  FENCED_AFTER_MS,
  LOOKED_WITHIN_MS,
  rowsOf,
  standings,
  startFor,
} from './crashing.ts';

vi.setConfig({ maxConcurrency: 3, testTimeout: 120_000 });

let upstream: ProgrammableUpstream;
beforeAll(async () => {
  upstream = await startUpstream();
});
afterAll(() => upstream.close());

const start = (options: ProcessOptions) => startFor(upstream, options);

/** Returns fields with this address, and a function that counts their deliveries. */
function lead(email: string) {
  return {
    fields: { ...quote, email },
    seen: () =>
      upstream.delivered.filter(({ event }) => {
        const { fields } = event.data as { fields: { email: string } };
        return fields.email === email;
      }).length,
  };
}

/** Expires every lease of a folder, then repeats an execution until a process has settled it. */
async function onceExpired(dataDir: string, execute: () => Promise<Answer>): Promise<Answer> {
  await changeIn(dataDir, expireLeases);
  let answer: Answer | undefined;
  await until(async () => {
    answer = await execute();
    return !answer.body.retryable;
  });
  return answer ?? expect.fail();
}

const inProgress = { status: 409, body: { error: expect.any(String), retryable: true } };

const failed = {
  status: 502,
  body: {
    error: expect.any(String),
    receipt: { status: 'failed', result: { ok: false } },
    replay: true,
  },
};

/** Executes until the crash, restarts, and checks every retry against reference §5.10. */
async function expectFailedByLease(
  crashing: ServiceProcess,
  fields: Record<string, string>,
  key: string,
): Promise<void> {
  const preview = await previewId(crashing, 'homeowner_quote', fields);
  await expect(executeAction(crashing, preview, { key })).rejects.toThrow();
  expect((await crashing.exited).signal).toBe('SIGKILL');

  const restarted = await start({ dataDir: crashing.dataDir });
  const retry = () => executeAction(restarted, preview, { key });
  expect(await retry()).toMatchObject(inProgress);
  const used = { status: 409, body: { error: 'preview_already_used' } };
  expect(await executeAction(restarted, preview, { key: `${key} again` })).toMatchObject(used);

  const settled = await onceExpired(crashing.dataDir, retry);
  expect(settled).toMatchObject(failed);
  expect((await retry()).body).toEqual(settled.body);
  expect(await executeAction(restarted, preview, { key: `${key} again` })).toMatchObject(used);
  expect([...standings(crashing.dataDir)]).toEqual([[settled.body.receipt.action_id, 'failed, undelivered, unknown']]);
}

describe.concurrent('execution whose process is killed or stopped', () => {
  test.for([
    { point: 'after the claim', seen: 0 },
    { point: 'before the send', seen: 0 },
    { point: 'after the answer', seen: 1 },
    { point: 'before the settle', seen: 1 },
  ])(
    'execute returns 409 until the lease expires, then the failed receipt, if killed $point (sent $seen times)',
    async ({ point, seen }, context) => {
      const sent = lead(`${point.replaceAll(' ', '-')}@example.com`);
      const crashing = await start(crashingAt(point));
      crashing.exited.then(() => injected(context, `kill -9 ${point}`));
      await expectFailedByLease(crashing, sent.fields, point);
      expect(sent.seen()).toBe(seen);
    },
  );

  test('execute returns 409, then the failed receipt, and sends nothing again, if killed during the send', async (context) => {
    const sent = lead('mid-send@example.com');
    const crashing = await start({});
    crashing.exited.then(() => injected(context, 'kill -9 in mid-send'));
    const usual = upstream.answer;
    upstream.answer = (response, delivered) => {
      if (delivered.body.includes('mid-send@')) crashing.kill('SIGKILL');
      else usual(response, delivered);
    };
    await expectFailedByLease(crashing, sent.fields, 'mid-send');
    expect(sent.seen()).toBe(1);
  });

  test('execute replays the submitted receipt at once if killed after the settle', async (context) => {
    const sent = lead('after-the-settle@example.com');
    const crashing = await start(crashingAt('after the settle'));
    const preview = await previewId(crashing, 'homeowner_quote', sent.fields);
    await expect(executeAction(crashing, preview, { key: 'settled' })).rejects.toThrow();
    expect((await crashing.exited).signal).toBe('SIGKILL');
    injected(context, 'kill -9 after the settle');

    const restarted = await start({ dataDir: crashing.dataDir });
    const answer = await executeAction(restarted, preview, { key: 'settled' });
    expect(answer).toMatchObject({
      status: 200,
      body: { ok: true, replay: true, receipt: { status: 'submitted', result: { ok: true } } },
    });
    const { action_id } = answer.body.receipt;
    expect([...standings(crashing.dataDir)]).toEqual([[action_id, 'submitted, delivered, confirmed']]);
    expect(sent.seen()).toBe(1);
  });

  test.for([{ point: 'after the claim' }, { point: 'before the send' }])(
    'sends nothing and returns the receipt of another process if stopped $point for longer than the lease',
    async ({ point }, context) => {
      const sent = lead(`stopped-${point.replaceAll(' ', '-')}@example.com`);
      const stopped = await start(crashingAt(point, 'SIGSTOP'));
      const other = await start({ dataDir: stopped.dataDir });
      const preview = await previewId(other, 'homeowner_quote', sent.fields);

      const waiting = executeAction(stopped, preview, { key: point });
      // Without the claim, the other process would execute it.
      await until(() => rowsOf(stopped.dataDir, 'select * from executions').length > 0);
      await sleep(FENCED_AFTER_MS);
      const settled = await onceExpired(stopped.dataDir, () => executeAction(other, preview, { key: point }));
      expect(settled).toMatchObject(failed);

      stopped.kill('SIGCONT');
      injected(context, 'SIGSTOP for longer than the lease, then SIGCONT');
      const late = await waiting;
      expect([late.status, late.body.receipt]).toEqual([502, settled.body.receipt]);
      expect([...standings(stopped.dataDir).values()]).toEqual(['failed, undelivered, unknown']);
      expect(sent.seen()).toBe(0);
    },
  );

  test('the states of execution and submission agree if killed after any statement', async (context) => {
    const emails: string[] = [];
    const began: string[] = [];
    let dataDir: string | undefined;
    for (let statement = 1; ; statement += 1) {
      const crash = crashingAt(`statement ${statement}`);
      const service = await start({ ...(dataDir !== undefined && { dataDir }), ...crash });
      dataDir = service.dataDir;
      const email = `statement-${statement}@example.com`;
      const preview = await previewId(service, 'homeowner_quote', lead(email).fields);
      const before = new Set(standings(dataDir).keys());
      const answer = await executeAction(service, preview, { key: email }).catch(() => undefined);
      if (answer?.status === 200) {
        await service.end();
        break;
      }
      expect((await service.exited).signal).toBe('SIGKILL');
      injected(context, 'kill -9 after each statement of an execution over HTTP');
      const left = [...standings(dataDir)].filter(([id]) => !before.has(id));
      began.push(...left.map(([, standing]) => standing));
      emails.push(email);
    }
    // The claim has two statements and a commit. The settle also has a begin.
    expect(emails.length).toBeGreaterThanOrEqual(7);
    for (const standing of began) {
      expect(standing).toBeOneOf(['executing, sending', 'submitted, delivered, confirmed']);
    }
    expect(began).toContain('executing, sending');

    await changeIn(dataDir, expireLeases);
    await start({ dataDir });
    const ended = () => [...standings(dataDir).values()];
    const isOver = () => !ended().some((standing) => standing.startsWith('executing'));
    await until(isOver, LOOKED_WITHIN_MS);
    const final = ['failed, undelivered, unknown', 'submitted, delivered, confirmed'];
    for (const standing of ended()) expect(standing).toBeOneOf(final);
    for (const email of emails) expect(lead(email).seen()).toBeLessThanOrEqual(1);
  });

  test('the embedded inbox has a lead exactly if its receipt is submitted, if killed after any statement', async (context) => {
    const environment = { UPSTREAM_URL: 'inbox:' };
    const previews: string[] = [];
    let dataDir: string | undefined;
    for (let statement = 1; ; statement += 1) {
      const crash = crashingAt(`statement ${statement}`);
      const service = await start({
        ...(dataDir === undefined ? {} : { dataDir }),
        preload: crash.preload,
        environment: { ...environment, ...crash.environment },
      });
      dataDir = service.dataDir;
      const preview = await previewId(service);
      const ended = executeAction(service, preview, { key: preview.slice(-40) });
      const answer = await ended.catch(() => undefined);
      if (answer?.status === 200) break;
      expect((await service.exited).signal).toBe('SIGKILL');
      injected(context, 'kill -9 after each statement, with the embedded inbox');
      previews.push(preview);
    }
    // There are at least the claim, its commit, and the statements of the delivery.
    expect(previews.length).toBeGreaterThanOrEqual(4);

    const restarted = await start({ dataDir, environment });
    const retry = (preview: string) => executeAction(restarted, preview, { key: preview.slice(-40) });
    const { dataDir: folder } = restarted;
    const answers: Answer[] = [];
    for (const preview of previews) answers.push(await onceExpired(folder, () => retry(preview)));
    const stored = rowsOf(dataDir, 'select id from submissions').map(({ id }) => id);
    for (const { status, body } of answers) {
      const { action_id, status: kept } = body.receipt;
      expect([status, kept, stored.includes(action_id)]).toEqual(
        status === 200 ? [200, 'submitted', true] : [502, 'failed', false],
      );
    }
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 502]));
  });
});
