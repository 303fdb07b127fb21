/** People's submissions over a real store and a real upstream, on a clock that stands until it is moved. */
import { expect } from 'vitest';
import { findForm } from '../../src/forms/catalog.ts';
import type { Log } from '../../src/operations/log.ts';
import type { Storage } from '../../src/storage/database.ts';
import type { SubmissionRow } from '../../src/storage/schema.ts';
import { accept } from '../../src/submissions/accept.ts';
import { type Attempt, attemptsOf } from '../../src/submissions/attempts.ts';
import { openRedelivery, type Redelivery } from '../../src/submissions/redelivery.ts';
import type { Accepted } from '../../src/submissions/store.ts';
import {
  openSubmissions,
  type Submissions,
  type SubmissionsOptions,
} from '../../src/submissions/submissions.ts';
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
  submissions: Submissions;
  redelivery: Redelivery;
  logged: string[];
  /** Another process beside the first, on the same store. */
  instance(over?: Partial<SubmissionsOptions>): {
    submissions: Submissions;
    redelivery: Redelivery;
  };
  /** Sends a contact form as a person does, each time of somebody else where no fields are given. */
  send(fields?: Record<string, string>, submissions?: Submissions, id?: string): Promise<Accepted>;
  /** What ended has been written: a success is answered before that. */
  settled(): Promise<void>;
  rows(): Promise<(SubmissionRow & { made: Attempt[] })[]>;
  /** The one row that there is. */
  row(): Promise<SubmissionRow & { made: Attempt[] }>;
  /** So much time goes by for every row, whichever clock it goes by. */
  age(ms: number): Promise<void>;
  change(set: Partial<SubmissionRow>): Promise<void>;
  /** As after a test: nothing kept, nothing delivered, an upstream that says yes. */
  clear(): Promise<void>;
  end(): Promise<void>;
};

export const UPSTREAM_TIMEOUT_MS = 10_000;
export const LEASE_MS = 15_000;

const parties = { contractor: { id: 'c-1', name: 'Painters' }, operatorName: 'Paint Match' };

/** What a person writes. */
export const ada = { name: 'Ada', email: 'ada@example.com', subject: 'Hello', message: 'Hi' };

/** Opens all of it over a database. */
export async function startRig(database: TestDatabase): Promise<Rig> {
  const clock = testClock();
  const storage = await database.open(clock);
  const receiver = await startUpstream();
  const upstream = openHttpUpstream({
    url: receiver.url,
    secret: Buffer.from('secret'),
    timeoutMs: UPSTREAM_TIMEOUT_MS,
    clock,
  });
  const logged: string[] = [];
  const say = (_entry: object, message: string) => void logged.push(message);
  const log = { info: say, warn: say, error: say } as unknown as Log;
  let people = 0;
  let ids = 0;

  const instance = (over: Partial<SubmissionsOptions> = {}) => {
    const submissions = openSubmissions({
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
    return { submissions, redelivery: openRedelivery({ submissions, clock, log }) };
  };
  const first = instance();

  const rows = async () => {
    const found = await storage.read((db) =>
      db.selectFrom('submissions').selectAll().orderBy('received_ms').orderBy('id'),
    );
    return found.map((row) => ({ ...row, made: attemptsOf(row.attempts) }));
  };

  return {
    clock,
    storage,
    receiver,
    upstream,
    ...first,
    logged,
    instance,
    send: (fields, submissions = first.submissions, id?: string) => {
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
      return accept(submissions, parties, submission, undefined);
    },
    settled: () => first.submissions.close(),
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
      await first.submissions.close();
      await storage.write((tx) => tx.deleteFrom('submissions').execute());
      receiver.delivered.length = 0;
      receiver.answer = answering(200);
      logged.length = 0;
    },
    end: async () => {
      await first.redelivery.close();
      await first.submissions.close();
      await upstream.close();
      await receiver.close();
      await storage.close();
      await database.remove();
    },
  };
}
