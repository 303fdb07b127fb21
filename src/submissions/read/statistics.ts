/** Statistics of submissions, for the console (reference §12.6), metrics and alerts (reference §21.4, §11.6). */
import type { ReadOnly } from '../../storage/database.ts';
import type { Progress } from '../../storage/schema.ts';
import type { Attempt } from '../attempts.ts';
import { isOpen, matching, progresses, type SubmissionFilter } from './filter.ts';
import {
  COUNTED_ROWS,
  type Cursor,
  positionsOf,
  type StoredSubmission,
  submissionPage,
  submissionsOf,
  type Total,
} from './list.ts';

export type NotArrived = { total: Total; oldest: StoredSubmission };

/**
 * Summarizes browser submissions with this status, or returns undefined if there are none. Submissions of failed
 * executions do not count, because they are never sent.
 */
export async function notArrived(reader: ReadOnly, status: 'undelivered' | 'waiting'): Promise<NotArrived | undefined> {
  const filter = { status, origin: 'browser' } as const;
  const [oldest] = await submissionsOf(reader, filter, { direction: 'asc', limit: 1 });
  if (oldest === undefined) return undefined;
  const { total } = await submissionPage(reader, filter, { limit: 0 });
  return { total, oldest };
}

/** Number of leads by progress, and of undelivered leads, each counted up to `COUNTED_ROWS` + 1. */
export type ChipCounts = Record<Progress | 'undelivered', number>;

/** Counts the leads of each progress and the undelivered leads, in small indexes. */
export async function countChips(reader: ReadOnly): Promise<ChipCounts> {
  const { constant } = reader.dialect;
  const filters: [keyof ChipCounts, SubmissionFilter][] = [
    ...progresses.map((progress): [Progress, SubmissionFilter] => [progress, { progress, onlyLeads: true }]),
    ['undelivered', { status: 'undelivered', onlyLeads: true }],
  ];
  const counted = await reader.read((db) =>
    filters
      .map(([name, filter]) =>
        db
          .selectFrom(
            matching(reader, db, filter)
              .select('id')
              .limit(constant(COUNTED_ROWS + 1))
              .as('some'),
          )
          .select((row) => [constant(name).as('name'), row.fn.countAll<number>().as('rows')]),
      )
      .reduce((all, one) => all.unionAll(one)),
  );
  const numberOf = (name: string) => Number(counted.find((row) => row.name === name)?.rows ?? 0);
  return Object.fromEntries(filters.map(([name]) => [name, numberOf(name)])) as ChipCounts;
}

/** Counts the leads behind a position, up to `limit`. Without a position, counts all leads. */
export async function countNewer(reader: ReadOnly, behind: Cursor | undefined, limit: number): Promise<number> {
  return (await reader.read(positionsOf(reader, { onlyLeads: true }, { direction: 'asc', behind, limit }))).length;
}

/** Number of the newest rows to read, because an older row may have had the last attempt. */
const LAST_ROWS = 50;

/** Returns the attempt of matching submissions that ended last, or undefined if no attempt has ended. */
export async function lastAnswer(reader: ReadOnly, filter: SubmissionFilter = {}): Promise<Attempt | undefined> {
  const newest = await submissionsOf(reader, filter, { direction: 'desc', limit: LAST_ROWS });
  return lastOf(newest.flatMap(({ attempts }) => attempts));
}

function lastOf(attempts: readonly Attempt[]): Attempt | undefined {
  const endedAt = ({ at, ms }: Attempt) => Date.parse(at) + ms;
  return attempts.toSorted((one, other) => endedAt(one) - endedAt(other)).at(-1);
}

/** State of the browser submissions that have not arrived, for the alert `upstream`. */
export type DeliveryState = Pick<SubmissionCounts, 'waiting' | 'undelivered'> & {
  /** Earliest next attempt, on the database's wall clock. Undefined if no submission waits. */
  nextAttemptMs: number | undefined;
  /** The last attempt that ended without a delivery. */
  lastAttempt: Attempt | undefined;
};

/** @throws StorageUnavailable */
export async function deliveryState(storage: ReadOnly): Promise<DeliveryState> {
  const { waiting, undelivered } = await countSubmissions(storage);
  const [due] = await storage.read((db) =>
    db
      .selectFrom('submissions')
      .select((row) => row.fn.min('next_attempt_ms').as('ms'))
      .where('status', '=', storage.dialect.constant('waiting')),
  );
  const answers = [];
  for (const status of ['waiting', 'undelivered'] as const) {
    const answer = await lastAnswer(storage, { status, origin: 'browser' });
    if (answer !== undefined) answers.push(answer);
  }
  return { waiting, undelivered, nextAttemptMs: due?.ms ?? undefined, lastAttempt: lastOf(answers) };
}

/**
 * Counts the submissions that a redelivery or a resend has delivered to an HTTP upstream since a time.
 * @throws StorageUnavailable
 */
export async function countDeliveredLater(storage: ReadOnly, since: Date): Promise<number> {
  const { constant } = storage.dialect;
  const [counted] = await storage.read((db) => {
    const delivered = db
      .selectFrom('submissions')
      .select('id')
      .where('status', '=', 'delivered')
      // The conditions in constants are those of partial indexes.
      .where('status', '<>', constant('sending'))
      .where('stored_here', '=', constant(0))
      .where('status_since_ms', '>=', since.getTime())
      .where('attempt_number', '>', 1);
    // Rows with and without content have different indexes.
    const both = delivered.where('email', 'is not', null).unionAll(delivered.where('email', 'is', null));
    return db.selectFrom(both.as('both')).select((row) => row.fn.countAll<number>().as('rows'));
  });
  return Number(counted?.rows ?? 0);
}

const DAYS = 30;

export type DayCounts = {
  /** Day in the given time zone, as `2026-12-01`. */
  date: string;
  browser: number;
  agent: number;
};

/** Counts the leads of each of the last 30 days by origin, the oldest day first. Takes an IANA time zone. */
export async function dailyCounts(reader: ReadOnly, now: Date, timeZone: string): Promise<DayCounts[]> {
  const days = lastDays(now, timeZone);
  const counted = await reader.read((db) =>
    days
      .map(({ date, since, until }) =>
        db
          .selectFrom('submissions')
          .select((row) => {
            const isAgent = row.case().when('client', 'is not', null).then(1).else(0).end();
            return [
              reader.dialect.constant(date).as('date'),
              row.fn.countAll<number>().as('rows'),
              row.fn.sum<number | null>(isAgent).as('agents'),
            ];
          })
          .where('received_ms', '>=', since)
          .where('received_ms', '<', until)
          .where('form', '<>', reader.dialect.constant('newsletter')),
      )
      .reduce((all, day) => all.unionAll(day)),
  );
  return days.map(({ date }) => {
    const of = counted.find((row) => row.date === date);
    const agent = Number(of?.agents ?? 0);
    return { date, agent, browser: Number(of?.rows ?? 0) - agent };
  });
}

/** Returns the bounds of the last days in a time zone. Some days have 23 hours, some 25. */
function lastDays(now: Date, timeZone: string) {
  const today = Temporal.Instant.fromEpochMilliseconds(now.getTime()).toZonedDateTimeISO(timeZone).toPlainDate();
  const beginningOf = (date: Temporal.PlainDate) => date.toZonedDateTime(timeZone).epochMilliseconds;
  return Array.from({ length: DAYS }, (_, index) => {
    const date = today.subtract({ days: DAYS - 1 - index });
    const until = beginningOf(date.add({ days: 1 }));
    return { date: date.toString(), since: beginningOf(date), until };
  });
}

export type SubmissionCounts = {
  sending: number;
  waiting: number;
  /** Number of browser submissions only, because submissions of failed executions are never sent. */
  undelivered: number;
  /** Age of the oldest waiting submission in seconds, or 0. */
  oldestWaitingSeconds: number;
};

/**
 * Counts the submissions that have not arrived, in small indexes.
 * @throws StorageUnavailable
 */
export async function countSubmissions(storage: ReadOnly): Promise<SubmissionCounts> {
  const { wallClock, constant } = storage.dialect;
  const [sending] = await storage.read((db) =>
    db
      .selectFrom('submissions')
      .select((row) => row.fn.countAll<number>().as('rows'))
      .where('status', '=', constant('sending')),
  );
  const ended = await storage.read((db) =>
    db
      .selectFrom('submissions')
      .select((row) => [
        'status',
        row.fn.countAll<number>().as('rows'),
        row(wallClock, '-', row.fn.min('received_ms')).as('oldest_ms'),
      ])
      .where((row) => isOpen(storage, row))
      .where('origin', '=', 'browser')
      .groupBy('status'),
  );
  const of = (status: string) => ended.find((row) => row.status === status);
  return {
    sending: Number(sending?.rows ?? 0),
    waiting: Number(of('waiting')?.rows ?? 0),
    undelivered: Number(of('undelivered')?.rows ?? 0),
    oldestWaitingSeconds: Math.max(Number(of('waiting')?.oldest_ms ?? 0) / 1_000, 0),
  };
}

/** Age at which the last week of the content begins: 83 of 90 days (reference §19.6). */
const EXPIRES_SOON_AFTER_MS = 83 * 86_400_000;

/**
 * Counts the browser submissions whose last week has begun since the previous count. `afterMs` is the `untilMs` of the
 * previous count, or null to count all. `untilMs` is the time 83 days ago, on the database's wall clock.
 */
export async function countExpiring(
  storage: ReadOnly,
  afterMs: number | null,
): Promise<{ count: number; untilMs: number }> {
  const [clock] = await storage.read((db) => db.selectNoFrom(storage.dialect.wallClock.as('milliseconds')));
  const untilMs = Math.floor(Number(clock?.milliseconds)) - EXPIRES_SOON_AFTER_MS;
  const [found] = await storage.read((db) =>
    db
      .selectFrom('submissions')
      .select((row) => row.fn.countAll<number>().as('rows'))
      .where((row) => isOpen(storage, row))
      .where('status', '=', 'undelivered')
      .where('origin', '=', 'browser')
      .where('status_since_ms', '>', afterMs ?? 0)
      .where('status_since_ms', '<=', untilMs)
      // Rows without content do not count.
      .where('email', 'is not', null),
  );
  return { count: Number(found?.rows ?? 0), untilMs };
}
