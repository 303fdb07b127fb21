/** An erasure beside 300,000 other rows delays nobody and falsifies no receipt (reference §19.8, §25.1). */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../src/platform/clock.ts';
import { lastScrubDueAt } from '../../../src/storage/scrubbing.ts';
import { signIn, startWithConsole } from '../../console/operator.ts';
import { executeAction, previewId } from '../../support/agent.ts';
import { post } from '../../support/forms.ts';
import { type ServiceProcess, startProcess } from '../../support/process.ts';
import type { Service } from '../../support/service.ts';
import { keepRows, submissionRow } from '../../support/submissions.ts';
import { until } from '../../support/until.ts';
import { type ProgrammableUpstream, startUpstream } from '../../support/upstream.ts';

const OTHERS = 300_000;
const HOUR_MS = 3_600_000;

/** Offset of the wall clock, so that the night comes at once. */
let stepMs = 0;
const clock = { ...systemClock, now: () => new Date(systemClock.now().getTime() + stepMs) };

/** Functions that end a part of the load. */
let load: (() => Promise<void>)[] = [];
const stopLoad = async () => {
  await Promise.all(load.map((end) => end()));
  load = [];
};

let upstream: ProgrammableUpstream;
let service: Service;
/** Another service, which shares only the machine. */
let elsewhere: ServiceProcess;
/** Duration of each answer of `/healthz`, in milliseconds: of the service, and of the other. */
let waits: [number[], number[]] = [[], []];
const people = ['ada', 'bob', 'eve'].map((name) =>
  submissionRow({ fields: { name, email: `${name}@example.com`, message: 'Hello' } }),
);
beforeAll(async () => {
  upstream = await startUpstream();
  const environment = {
    UPSTREAM_URL: upstream.url,
    UPSTREAM_TIMEOUT_MS: '1000',
    OPERATOR_TIME_ZONE: 'UTC',
    SUBMISSION_RETENTION_DAYS: '36500',
  };
  service = await startWithConsole({ clock, environment });
  elsewhere = await startProcess();
  await keepRows(service.parts.storage, [submissionRow({ id: '0' }), ...people]);
  addOthers(join(service.folder, 'service.db'));
});
afterAll(async () => {
  await stopLoad();
  await service.close();
  await upstream.close();
});

/** Copies one row under other ids and addresses, in SQLite itself. */
function addOthers(path: string): void {
  const database = new DatabaseSync(path);
  database.exec('create temporary table other as select * from submissions limit 1');
  const columns = database.prepare('select name from pragma_table_info(?)').all('other');
  const names = columns.map(({ name }) => String(name));
  const made: Record<string, string> = {
    id: `printf('%08x-0000-7000-8000-%012x', n * 7919 % 2147483648, n)`,
    email: `'person' || n || '@example.com'`,
    fields_digest: `'digest ' || n`,
  };
  database.exec(`
    with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${OTHERS})
    insert into submissions (${names.join()})
    select ${names.map((name) => made[name] ?? `other.${name}`).join()} from numbers, other`);
  database.close();
}

/** Requests addresses in turn in its own thread and passes on the durations of their answers, in milliseconds. */
function askInThread(urls: string[], tell: (durations: number[]) => void): () => Promise<void> {
  const asker = new Worker(
    `
    const { parentPort, workerData } = require('node:worker_threads');
    const ask = async (url) => {
      const began = performance.now();
      const { status } = await fetch(url);
      return status === 200 ? performance.now() - began : Infinity;
    };
    const askAll = async () => {
      const durations = [];
      for (const url of workerData) durations.push(await ask(url));
      parentPort.postMessage(durations);
      setTimeout(askAll, 5);
    };
    askAll();`,
    { eval: true, workerData: urls },
  );
  asker.on('message', tell);
  return async () => void (await asker.terminate());
}

/** Repeats a function at a steady rate until the returned function is called, which waits for its end. */
function steadily(everyMs: number, run: () => Promise<unknown>): () => Promise<void> {
  const running: Promise<unknown>[] = [];
  const timer = setInterval(() => running.push(run()), everyMs);
  return async () => {
    clearInterval(timer);
    await Promise.all(running);
  };
}

/** Deletes one person and advances to the night. Returns the p99 of each service's answers meanwhile, in milliseconds. */
async function erase(id: string): Promise<{ p99: number; other: number }> {
  const { storage, scrubbing } = service.parts;
  const operator = await signIn(service);
  const path = `/operator/people/${id}`;
  const says = /<time[^>]*>[^<]*03:00<\/time>/;
  expect((await operator.get(`${path}?delete`)).text).toMatch(says);
  waits = [[], []];
  expect((await operator.press(path, { do: 'delete' })).status).toBe(303);
  expect((await operator.get('/operator/audit')).text).toMatch(says);
  await systemClock.sleep(1_000);

  const dueAt = (await lastScrubDueAt(storage)) ?? expect.fail('nothing is requested');
  const untilThenMs = dueAt.getTime() - clock.now().getTime();
  expect(dueAt.getUTCHours()).toBe(3);
  expect([untilThenMs > 0, untilThenMs <= 24 * HOUR_MS]).toEqual([true, true]);
  stepMs += untilThenMs;
  scrubbing.soon();
  await until(async () => (await lastScrubDueAt(storage)) === undefined, 40_000);
  return { p99: p99Of(waits[0]), other: p99Of(waits[1]) };
}

test('erasure: keeps small requests fast and every receipt correct, by day and during the rewrite at night', async () => {
  load = [
    askInThread([`${service.url}/healthz`, `${elsewhere.url}/healthz`], ([wait = 0, other = 0]) => {
      waits[0].push(wait);
      waits[1].push(other);
    }),
    steadily(100, async () => executeAction(service, await previewId(service), {})),
    steadily(100, () => post(service, '/api/leads', 'json', { form: 'contact', ...lead() })),
  ];
  await systemClock.sleep(2_000);
  // One of three counts, because other work of the machine adds to each.
  let fast = false;
  for (const { id } of people) {
    if (fast) break;
    const { p99, other } = await erase(id);
    console.info(`erasure: p99 ${p99.toFixed(1)} ms, elsewhere ${other.toFixed(1)} ms`);
    fast = p99 < Math.max(20, 2 * other);
  }
  await stopLoad();
  expect(fast).toBe(true);
  expect(service.logs.join('')).toContain('"scrubbed":"clean"');
  await until(async () => (await statusesOf('executing')).length === 0);
  const confirmed = new Set(upstream.delivered.map(({ event }) => event.data.id));
  const failed = (await statusesOf('failed')).filter((id) => confirmed.has(id));
  expect(failed).toEqual([]);
  expect((await statusesOf('submitted')).length).toBeGreaterThan(10);
});

function p99Of(waits: readonly number[]): number {
  return waits.toSorted((a, b) => a - b)[Math.floor(waits.length * 0.99)] ?? expect.fail();
}

let leads = 0;
function lead() {
  leads += 1;
  return { name: 'Eve', email: `lead${leads}@example.com`, subject: 's', message: 'm' };
}

async function statusesOf(status: 'executing' | 'failed' | 'submitted'): Promise<string[]> {
  const rows = await service.parts.storage.read((db) =>
    db.selectFrom('executions').select('action_id').where('status', '=', status),
  );
  return rows.map(({ action_id }) => action_id);
}
