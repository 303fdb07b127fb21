/** Checks that a stored lead is delivered after kill -9 or SIGSTOP at any point, or an outage (reference §10.6). */
import { randomUUID } from 'node:crypto';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { runService } from '../commands/run-service.ts';
import { type Answer, call } from '../support/agent.ts';
import { injected } from '../support/injected.ts';
import { type ProcessOptions, type ServiceProcess, temporaryFolder } from '../support/process.ts';
import { until } from '../support/until.ts';
import { type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';
import {
  changeIn,
  crashingAt,
  endDelays,
  expireLeases,
  FENCED_AFTER_MS,
  LOOKED_WITHIN_MS,
  outcomesOf,
  rowsOf,
  startFor,
} from './crashing.ts';

// Tests spend half of their time waiting for periodic jobs, so more of them run at once.
vi.setConfig({ maxConcurrency: 4, testTimeout: 120_000 });

let upstream: ProgrammableUpstream;
beforeAll(async () => {
  upstream = await startUpstream();
});
afterAll(() => upstream.close());

const start = (options: ProcessOptions) => startFor(upstream, options);

type Lead = { email: string; send(service: ServiceProcess): Promise<Answer> };

function newLead(): Lead {
  const email = `${randomUUID()}@example.com`;
  const body = { form: 'contact', name: 'Ada', email, subject: 'Paint', message: 'Hello' };
  const headers = { 'content-type': 'application/json' };
  return {
    email,
    send: (service) => call(service, '/api/leads', { headers, body: JSON.stringify(body) }),
  };
}

/** Returns the id and the exact body of each delivery of this lead. */
function seen({ email }: Lead): { id: unknown; body: string }[] {
  return upstream.delivered
    .filter(({ body }) => body.includes(email))
    .map(({ headers, body }) => ({ id: headers['webhook-id'], body }));
}

/** Returns the rows of this lead: id, body, and the status with the outcome of each attempt. */
function kept(dataDir: string, { email }: Lead) {
  return rowsOf(dataDir, `select * from submissions where email = '${email}'`).map((row) => ({
    id: String(row.id),
    body: String(row.event),
    standing: [row.status, ...outcomesOf(row.attempts)].join(', '),
  }));
}

async function untilItStands(dataDir: string, lead: Lead, standing: string) {
  await until(() => kept(dataDir, lead)[0]?.standing === standing, LOOKED_WITHIN_MS);
  expect(kept(dataDir, lead)).toHaveLength(1);
}

/** Runs `npm run inbox -- resend ID…` beside a running service, and checks that each lead is delivered once more. */
async function resend({ dataDir }: ServiceProcess, leads: readonly Lead[]): Promise<void> {
  const rows = leads.map((lead) => kept(dataDir, lead)[0]);
  const before = leads.map((lead) => seen(lead).length);
  const ids = rows.map((row) => String(row?.id));
  const ran = await runService(['inbox', 'resend', ...ids], { environment: { DATA_DIR: dataDir } });
  expect([ran.status, ran.stdout]).toEqual([0, ids.map((id) => `${id}  confirmed\n`).join('')]);
  for (const [index, lead] of leads.entries()) {
    const { id, body } = rows[index] ?? {};
    expect(seen(lead)).toEqual(Array((before[index] ?? 0) + 1).fill({ id, body }));
    const standings = kept(dataDir, lead).map(({ standing }) => standing);
    expect(standings).toEqual(['delivered, unknown, confirmed']);
  }
}

describe.concurrent('lead whose process is killed or stopped', () => {
  test.for([
    { point: 'after the claim', times: 0 },
    { point: 'before the send', times: 0 },
    { point: 'after the answer', times: 1 },
    { point: 'before the settle', times: 1 },
  ])(
    'waits for redelivery once its lease expires, and resend delivers it under the same id, if killed $point',
    async ({ point, times }, context) => {
      const lead = newLead();
      const crashing = await start(crashingAt(point));
      // A confirmed lead is answered without waiting for its second commit.
      await lead.send(crashing).catch(() => {});
      expect((await crashing.exited).signal).toBe('SIGKILL');
      injected(context, `lead: kill -9 ${point.replace('the claim', 'its first commit')}`);
      expect(seen(lead)).toHaveLength(times);
      expect(kept(crashing.dataDir, lead).map(({ standing }) => standing)).toEqual(['sending']);

      await changeIn(crashing.dataDir, expireLeases);
      const restarted = await start({ dataDir: crashing.dataDir });
      await untilItStands(crashing.dataDir, lead, 'waiting, unknown');
      expect(seen(lead)).toHaveLength(times);
      await resend(restarted, [lead]);
    },
  );

  test('is redelivered automatically with the same id and body if the process is killed during the send', async (context) => {
    const lead = newLead();
    const crashing = await start({});
    const usual = upstream.answer;
    upstream.answer = (response, delivered) => {
      const isFirst = delivered.body.includes(lead.email) && seen(lead).length === 1;
      if (isFirst) crashing.kill('SIGKILL');
      else usual(response, delivered);
    };
    await expect(lead.send(crashing)).rejects.toThrow();
    await crashing.exited;
    injected(context, 'lead: kill -9 in mid-send');

    await changeIn(crashing.dataDir, expireLeases);
    const { dataDir } = await start({ dataDir: crashing.dataDir });
    await untilItStands(dataDir, lead, 'waiting, unknown');
    await changeIn(dataDir, endDelays);
    await untilItStands(dataDir, lead, 'delivered, unknown, confirmed');
    const [row] = kept(dataDir, lead);
    expect(seen(lead)).toEqual(Array(2).fill({ id: row?.id, body: row?.body }));
  });

  test('has two attempts with outcome unknown, and a resend delivers it, if killed during a redelivery', async (context) => {
    const lead = newLead();
    const crashing = await start(crashingAt('before the send'));
    await expect(lead.send(crashing)).rejects.toThrow();
    await changeIn(crashing.dataDir, expireLeases);
    const dying = await start({ dataDir: crashing.dataDir });
    await untilItStands(dying.dataDir, lead, 'waiting, unknown');
    const usual = upstream.answer;
    upstream.answer = (response, delivered) => {
      const isFirst = delivered.body.includes(lead.email) && seen(lead).length === 1;
      if (isFirst) dying.kill('SIGKILL');
      else usual(response, delivered);
    };
    const [row] = kept(dying.dataDir, lead);
    const environment = { DATA_DIR: dying.dataDir };
    const asked = runService(['inbox', 'resend', row?.id ?? ''], { environment });
    await dying.exited;
    injected(context, 'lead: kill -9 in the middle of a redelivery');

    await changeIn(dying.dataDir, expireLeases);
    const restarted = await start({ dataDir: dying.dataDir });
    // The attempt has no known outcome, so the command reports it as unknown.
    expect((await asked).stdout).toContain('unknown: the service stopped during the attempt');
    await untilItStands(dying.dataDir, lead, 'waiting, unknown, unknown');
    const again = await runService(['inbox', 'resend', row?.id ?? ''], { environment });
    expect(again.status).toBe(0);
    expect(seen(lead)).toEqual(Array(2).fill({ id: row?.id, body: row?.body }));
    await untilItStands(restarted.dataDir, lead, 'delivered, unknown, unknown, confirmed');
  });

  test('stays delivered and is not sent again if the process is killed after the settle', async (context) => {
    const lead = newLead();
    const crashing = await start(crashingAt('after the settle'));
    await lead.send(crashing).catch(() => {});
    expect((await crashing.exited).signal).toBe('SIGKILL');
    injected(context, 'lead: kill -9 after the settle');
    await changeIn(crashing.dataDir, expireLeases);
    await changeIn(crashing.dataDir, endDelays);
    const restarted = await start({ dataDir: crashing.dataDir });
    // The service finds expired leases and due rows at its start, and every five seconds.
    await sleep(6_000);
    expect(kept(restarted.dataDir, lead)).toMatchObject([{ standing: 'delivered, confirmed' }]);
    expect(seen(lead)).toHaveLength(1);
  });

  test.for([{ point: 'after the claim' }, { point: 'before the send' }])(
    'is answered with 502 and its reference, and is not sent, if stopped $point for longer than the lease',
    async ({ point }, context) => {
      const lead = newLead();
      const stopped = await start(crashingAt(point, 'SIGSTOP'));
      const { dataDir } = stopped;
      const other = await start({ dataDir });
      const waiting = lead.send(stopped);
      await until(() => kept(dataDir, lead).length > 0);
      await sleep(FENCED_AFTER_MS);
      await changeIn(dataDir, expireLeases);
      await untilItStands(dataDir, lead, 'waiting, unknown');

      stopped.kill('SIGCONT');
      injected(context, 'lead: SIGSTOP for longer than the lease, then SIGCONT');
      const late = await waiting;
      const [row] = kept(dataDir, lead);
      expect([late.status, late.headers.get('submission-reference')]).toEqual([502, row?.id]);
      expect(kept(dataDir, lead)).toEqual([row]);
      expect(seen(lead)).toEqual([]);
      await resend(other, [lead]);
    },
  );

  // This test kills the upstream, not the service. It is here because it waits for the same periodic jobs.
  test('npm run demo -- outage reports that no lead was lost or sent twice', async (context) => {
    const folder = temporaryFolder();
    let isBack = false;
    const running = runService(['demo', 'outage'], {
      environment: { TMPDIR: folder },
      said: (text) => {
        isBack ||= text.includes('The upstream comes back');
      },
    });
    await until(() => isBack, LOOKED_WITHIN_MS);
    const [dataDir = ''] = globSync(join(folder, 'outage-*'));
    await changeIn(dataDir, endDelays);
    const { status, stdout, stderr } = await running;
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toContain('Nothing was lost, and nothing arrived twice.');
    injected(context, 'npm run demo -- outage: the upstream dies while leads come in');
  });

  test('is stored before the send and the answer, and resend delivers it, if killed after any statement', async (context) => {
    const leads: Lead[] = [];
    const told: (number | undefined)[] = [];
    let dataDir: string | undefined;
    for (let statement = 1; ; statement += 1) {
      const crash = crashingAt(`statement ${statement}`);
      const service = await start({ ...(dataDir !== undefined && { dataDir }), ...crash });
      dataDir = service.dataDir;
      const lead = newLead();
      const answer = await lead.send(service).catch(() => undefined);
      const isOver = await endsBySettling(service, lead);
      if (isOver) break;
      injected(context, 'lead: kill -9 after each statement');
      leads.push(lead);
      told.push(answer?.status);
    }
    // These are insert and commit, then begin, update and commit.
    expect(leads.length).toBeGreaterThanOrEqual(5);
    expect(told).not.toContain(502);

    await changeIn(dataDir, expireLeases);
    const restarted = await start({ dataDir });
    const sending = () => rowsOf(restarted.dataDir, `select id from submissions where status = 'sending'`);
    await until(() => sending().length === 0, LOOKED_WITHIN_MS);
    const standings: string[] = [];
    const waiting: Lead[] = [];
    for (const [index, lead] of leads.entries()) {
      const [row, ...others] = kept(restarted.dataDir, lead);
      expect(others).toEqual([]);
      standings.push(row?.standing ?? 'not kept');
      if (row === undefined) expect([told[index], seen(lead)]).toEqual([undefined, []]);
      else if (row.standing === 'waiting, unknown') waiting.push(lead);
      else expect([row.standing, seen(lead).length]).toEqual(['delivered, confirmed', 1]);
    }
    await resend(restarted, waiting);
    expect(standings).toEqual(expect.arrayContaining(['not kept', 'waiting, unknown']));
  });
});

/** Returns true if the process settled the lead and still lives 500 ms later. */
async function endsBySettling(service: ServiceProcess, lead: Lead): Promise<boolean> {
  let exited = false;
  service.exited.then(() => {
    exited = true;
  });
  await until(() => exited || kept(service.dataDir, lead)[0]?.standing.includes('delivered') === true);
  await sleep(500);
  const lives = !exited;
  await service.end();
  return lives;
}
