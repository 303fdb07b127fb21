/** People's submissions over a real store and a real upstream, on a clock that only tests advance. */
import { expect } from 'vitest';
import { findForm } from '../../src/forms/catalog.ts';
import type { Job } from '../../src/platform/jobs.ts';
import type { Log } from '../../src/platform/log.ts';
import type { Storage } from '../../src/storage/database.ts';
import type { SubmissionRow } from '../../src/storage/schema.ts';
import { type Attempt, parseAttempts } from '../../src/submissions/attempts.ts';
import { deliver } from '../../src/submissions/deliver.ts';
import {
  closeLeadStore,
  type Delivered,
  type LeadStore,
  type LeadStoreOptions,
  openLeadStore,
} from '../../src/submissions/lead-store.ts';
import type { Join } from '../../src/submissions/persist.ts';
import { openRedelivery } from '../../src/submissions/redelivery.ts';
import { newSubmission } from '../../src/submissions/submission.ts';
import { openHttpUpstream } from '../../src/upstream/http.ts';
import type { RemoteUpstream } from '../../src/upstream/upstream.ts';
import { type TestClock, testClock } from '../support/clock.ts';
import type { TestDatabase } from '../support/databases.ts';
import { answering, type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';

export type Rig = {
  clock: TestClock;
  storage: Storage;
  receiver: ProgrammableUpstream;
  upstream: RemoteUpstream;
  submissions: LeadStore;
  redelivery: Pick<Job, 'work' | 'close'>;
  logged: string[];
  /** Opens another instance on the same store, like a second process. */
  instance(over?: Partial<LeadStoreOptions>): {
    submissions: LeadStore;
    redelivery: Pick<Job, 'work' | 'close'>;
  };
  /** Sends a contact form as a person does. Without fields, each call is from another person. */
  send(fields?: Record<string, string>, submissions?: LeadStore, id?: string, join?: Join): Promise<Delivered>;
  /** Waits until all outcomes are written. A success is answered earlier. */
  settled(): Promise<void>;
  rows(): Promise<(SubmissionRow & { made: Attempt[] })[]>;
  /** Returns the only row. */
  row(): Promise<SubmissionRow & { made: Attempt[] }>;
  /** Moves the times of all rows into the past. */
  age(ms: number): Promise<void>;
  change(set: Partial<SubmissionRow>): Promise<void>;
  /** Restores the initial state: no rows, no deliveries, an upstream that confirms. */
  clear(): Promise<void>;
  end(): Promise<void>;
};

export const UPSTREAM_TIMEOUT_MS = 10_000;
export const LEASE_MS = 15_000;

const parties = { contractor: { id: 'c-1', name: 'Painters' }, operatorName: 'Paint Match' };

/** The fields of a contact form. */
export const ada = { name: 'Ada', email: 'ada@example.com', subject: 'Hello', message: 'Hi' };

/** Opens everything over a database. */
export async function startRig(database: TestDatabase): Promise<Rig> {
  const clock = testClock();
  const storage = await database.open(clock);
  const receiver = await startUpstream();
  const upstream = openHttpUpstream({
    url: receiver.url,
    secrets: [Buffer.from('secret')],
    timeoutMs: UPSTREAM_TIMEOUT_MS,
    clock,
  });
  const logged: string[] = [];
  const say = (_entry: object, message: string) => void logged.push(message);
  const log = { info: say, warn: say, error: say } as unknown as Log;
  let people = 0;
  let ids = 0;

  const instance = (over: Partial<LeadStoreOptions> = {}) => {
    const submissions = openLeadStore({
      storage,
      clock,
      log,
      metrics: { countAttempt: () => {} },
      upstream,
      upstreamTimeoutMs: UPSTREAM_TIMEOUT_MS,
      redelivery: true,
      keepsDelivered: true,
      ...over,
    });
    const jobs = Object.values(openRedelivery(submissions));
    const redelivery = {
      work: async () => void (await Promise.all(jobs.map((job) => job.run()))),
      close: async () => void (await Promise.all(jobs.map((job) => job.close()))),
    };
    return { submissions, redelivery };
  };
  const first = instance();

  const rows = async () => {
    const found = await storage.read((db) =>
      db.selectFrom('submissions').selectAll().orderBy('received_ms').orderBy('id'),
    );
    return found.map((row) => ({ ...row, made: parseAttempts(row.attempts) }));
  };

  return {
    clock,
    storage,
    receiver,
    upstream,
    ...first,
    logged,
    instance,
    send: (fields, submissions = first.submissions, id?: string, join?: Join) => {
      people += 1;
      ids += 1;
      const submission = {
        id: id ?? `00000000-0000-7000-8000-${String(ids).padStart(12, '0')}`,
        form: findForm('contact') ?? expect.fail(),
        fields: fields ?? { ...ada, email: `person-${people}@example.com` },
        origin: 'browser' as const,
        client: null,
        consentRecordedAt: null,
      };
      const received = newSubmission(submission, parties, clock.now().toISOString());
      return deliver(submissions, received, undefined, join);
    },
    settled: () => closeLeadStore(first.submissions),
    rows,
    row: async () => {
      const [row, ...others] = await rows();
      expect(others).toEqual([]);
      return row ?? expect.fail();
    },
    age: async (ms) => {
      await storage.write((tx) =>
        tx
          .updateTable('submissions')
          .set((row) => ({
            received_ms: row('received_ms', '-', ms),
            status_since_ms: row('status_since_ms', '-', ms),
            next_attempt_ms: row('next_attempt_ms', '-', ms),
            lease_started_ms: row('lease_started_ms', '-', ms),
          }))
          .execute(),
      );
    },
    change: async (set) => {
      await storage.write((tx) => tx.updateTable('submissions').set(set).execute());
    },
    clear: async () => {
      await closeLeadStore(first.submissions);
      await storage.write((tx) => tx.deleteFrom('submissions').execute());
      receiver.delivered.length = 0;
      receiver.answer = answering(200);
      logged.length = 0;
    },
    end: async () => {
      await first.redelivery.close();
      await closeLeadStore(first.submissions);
      await upstream.close();
      await receiver.close();
      await storage.close();
      await database.remove();
    },
  };
}
