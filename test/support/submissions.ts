import { randomUUID } from 'node:crypto';
import { type FormName, forms } from '../../src/forms/catalog.ts';
import type { Storage } from '../../src/storage/database.ts';
import type { SubmissionRow } from '../../src/storage/schema.ts';
import { type Attempt, attemptLine as lineOf } from '../../src/submissions/attempts.ts';
import type { StoredSubmission } from '../../src/submissions/read/list.ts';
import { searchColumns } from '../../src/submissions/submission.ts';
import type { Event } from '../../src/upstream/upstream.ts';

export const RECEIVED = '2026-09-01T12:00:00.000Z';

type Given = Partial<Omit<SubmissionRow, 'event' | 'attempts'>> & {
  receivedAt?: string;
  fields?: Record<string, string>;
  data?: Partial<Event['data']>;
  attempts?: readonly Partial<Attempt>[];
};

/** Returns a row of a delivered submission, except for the given values. */
export function submissionRow(given: Given = {}): SubmissionRow {
  const { receivedAt = RECEIVED, fields, data, attempts = [], ...columns } = given;
  const id = columns.id ?? randomUUID();
  const form = (columns.form ?? 'contact') as FormName;
  const origin = columns.origin ?? 'browser';
  const typed = fields ?? { name: 'Ada', email: 'ada@example.com', message: 'Hello' };
  const receivedMs = Date.parse(receivedAt);
  return {
    form,
    origin,
    client: data?.client ?? (origin === 'agent' ? 'acme' : null),
    progress: 'new',
    note: null,
    ...searchColumns({ id, client: data?.client ?? null, fields: typed }),
    subscriber: null,
    subscriber_id: null,
    received_ms: receivedMs,
    event: JSON.stringify(eventOf({ id, form, origin, fields: typed, ...data })),
    disclosures: null,
    fields_digest: origin === 'browser' ? `digest of ${id}` : null,
    status: 'delivered',
    status_since_ms: receivedMs,
    reason: null,
    stored_here: 0,
    attempt_number: 1,
    attempt_by: 'first',
    resumed_status: null,
    lease_started_ms: null,
    lease_ms: null,
    step: null,
    next_attempt_ms: null,
    resend_asked_ms: null,
    ...columns,
    id,
    attempts: attempts.map(attemptLine).join(''),
  };
}

/** Returns such a row of this moment, which the retention of a running service keeps. */
export function recentRow(given: Given = {}): SubmissionRow {
  return submissionRow({ receivedAt: new Date().toISOString(), ...given });
}

/** Returns a line of `attempts`: a confirmed first attempt, except for the given values. */
export function attemptLine(attempt: Partial<Attempt> = {}): string {
  return lineOf({ at: RECEIVED, ms: 12, outcome: 'confirmed', by: 'first', http_status: 200, ...attempt });
}

/** Inserts rows unchanged. */
export async function keepRows(storage: Storage, rows: readonly SubmissionRow[]): Promise<void> {
  await storage.write(async (tx) => {
    for (let from = 0; from < rows.length; from += 200) {
      await tx
        .insertInto('submissions')
        .values(rows.slice(from, from + 200))
        .execute();
    }
  });
}

/** Returns all submissions in the order of their ids. */
export function allRows(storage: Storage): Promise<SubmissionRow[]> {
  return storage.read((db) => db.selectFrom('submissions').selectAll().orderBy('id'));
}

/** Returns the event of a submission. */
export function eventOf(data: Partial<Event['data']> = {}): Event {
  const { form = 'contact' } = data;
  return {
    type: forms[form].event,
    timestamp: RECEIVED,
    data: {
      id: 'id',
      form,
      fields: {},
      recipient: null,
      origin: 'browser',
      client: null,
      consent_recorded_at: null,
      ...data,
    },
  };
}

/** Returns a delivered submission in the form that `list.ts` returns. */
export function keptSubmission(event: Event): StoredSubmission {
  const became = {
    status: 'delivered',
    reason: null,
    progress: 'new',
    note: null,
    nextAttemptAt: null,
    attempts: [],
  } as const;
  return { receivedAt: RECEIVED, receivedMs: Date.parse(RECEIVED), event, ...became, attempts: [] };
}
