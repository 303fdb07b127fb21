/** The periodic jobs of a process: what each of them deletes, and an unavailable store, which ends none of them. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Job } from '../../src/platform/jobs.ts';
import { openLog } from '../../src/platform/log.ts';
import { openJobs, startJobs } from '../../src/start/job-list.ts';
import { type Storage, StorageUnavailable } from '../../src/storage/database.ts';
import { type TestClock, testClock } from '../support/clock.ts';
import { type Service, startService } from '../support/service.ts';

const DAY_MS = 86_400_000;

const clock: TestClock = testClock();
let service: Service;
let isAway = false;
let logged: { level: string; msg: string; err: { message: string } }[] = [];
let jobs: ReturnType<typeof openJobs>;

beforeAll(async () => {
  service = await startService({ clock });
  const { storage } = service.parts;
  const unless =
    <A extends unknown[], R>(run: (...args: A) => Promise<R>) =>
    (...args: A) =>
      isAway ? Promise.reject(new StorageUnavailable('The store is away.')) : run(...args);
  const faulty: Storage = { ...storage, read: unless(storage.read) as never, write: unless(storage.write) as never };
  const log = openLog('warn', (line) => logged.push(JSON.parse(line)));
  const { settings, parts } = service;
  const days = { receiptDays: settings.receiptRetentionDays, submissionDays: settings.submissionRetentionDays };
  jobs = openJobs({ ...parts, ...days, storage: faulty, log, presses: idle() });
});
beforeEach(() => {
  isAway = false;
  logged = [];
});
afterAll(() => service.close());

/** A job that does nothing. */
function idle(seen: (event: string) => void = () => {}): Job {
  return {
    work: async () => {},
    run: async () => seen('run'),
    soon: () => {},
    start: () => seen('start'),
    close: async () => seen('close'),
  };
}

describe('a job that deletes old rows', () => {
  test.each([
    ['receipts', 'receipts past retention not deleted'],
    ['confirmations', 'overdue confirmations not expired'],
    ['submissions', 'submissions past retention not removed'],
    ['subscribers', 'unconfirmed subscriptions not erased'],
    ['sandbox', 'tests of sandbox clients not deleted'],
    ['console', 'expired console rows not deleted'],
    ['oauth', 'expired connections not deleted'],
  ] as const)('%s logs one error for failures in a row, and works again afterwards', async (name, msg) => {
    isAway = true;
    for (let times = 1; times <= 2; times += 1) await jobs[name].run();
    expect(logged).toMatchObject([{ level: 'error', msg, err: { message: 'The store is away.' } }]);
    isAway = false;
    await jobs[name].run();
    expect(logged).toHaveLength(1);
  });

  test('console deletes its audit lines after RECEIPT_RETENTION_DAYS', async () => {
    const { storage } = service.parts;
    const line = { id: 'a-1', at: clock.now().toISOString(), name: 'Jo', what: 'sign in', about: 'Jo' };
    const lines = () => storage.read((db) => db.selectFrom('operator_audit').select('id'));
    await storage.write((tx) => tx.insertInto('operator_audit').values(line).execute());
    clock.advance(service.settings.receiptRetentionDays * DAY_MS);
    await jobs.console.run();
    expect(await lines()).toEqual([{ id: 'a-1' }]);
    clock.advance(1);
    await jobs.console.run();
    expect(await lines()).toEqual([]);
  });
});

describe('startJobs', () => {
  test('starts every job, and recovery before redelivery. Its end closes all of them once, except recovery', async () => {
    const seen: string[] = [];
    const named = (name: string) => idle((event) => seen.push(`${name} ${event}`));
    const end = startJobs({
      ...{ recovery: named('recovery'), redelivery: named('redelivery'), resend: named('resend') },
      ...{ outbox: undefined, receipts: named('receipts') },
    });
    await clock.turn();
    const starts = ['recovery', 'redelivery', 'resend', 'receipts'].map((name) => `${name} start`);
    expect(seen).toEqual(['recovery run', ...starts, 'redelivery run', 'resend run']);
    seen.splice(0);
    await Promise.all([end(), end()]);
    expect(seen).toEqual(['redelivery close', 'resend close', 'receipts close']);
  });
});
