/**
 * The queries behind `listing.ts`. Each walks an index and ends after as many rows as it wants, however many
 * there are: the newest, those of a form, of an open status, of an address, of a telephone number.
 */
import { type FormName, forms } from '../forms/catalog.ts';
import type { Selects, Storage } from '../storage/database.ts';
import type { SubmissionRow, SubmissionStatus } from '../storage/schema.ts';
import type { Search } from './search.ts';

export type SubmissionFilter = {
  status?: SubmissionStatus | undefined;
  form?: FormName | undefined;
  origin?: SubmissionRow['origin'] | undefined;
  /** Received at that time or later. */
  since?: Date | undefined;
  /** Received before that time. */
  until?: Date | undefined;
  /** The whole address. */
  email?: string | undefined;
  search?: Search | undefined;
};

/** A place in the order of `received_ms` and `id`. */
export type Cursor = Pick<SubmissionRow, 'received_ms' | 'id'>;

type Between = { after?: Cursor | undefined; before?: Cursor | undefined };
type Dialect = Pick<Storage, 'dialect'>;

const origins = ['browser', 'agent'] as const;

/** Up to `limit` rows, newest first. */
export function newest(storage: Dialect, filter: SubmissionFilter, limit: number, before?: Cursor) {
  return (db: Selects) => {
    const [first, ...more] = walksOf(filter).map((walk) =>
      ordered(storage, db, walk, { before }, 'desc').limit(limit),
    );
    if (first === undefined) throw new Error('A filter that is no walk.');
    if (more.length === 0) return first;
    // In brackets, as it were: SQLite sorts and limits no part of a union.
    const whole = (walk: typeof first) => db.selectFrom(walk.as('walk')).selectAll();
    const all = more.reduce((union, walk) => union.unionAll(whole(walk)), whole(first));
    const merged = db.selectFrom(all.as('walks')).selectAll();
    return merged.orderBy('received_ms', 'desc').orderBy('id', 'desc').limit(limit);
  };
}

/** Up to `limit` rows, oldest first. */
export function oldest(
  storage: Dialect,
  filter: SubmissionFilter,
  limit: number,
  between: Between,
) {
  return (db: Selects) => ordered(storage, db, filter, between, 'asc').limit(limit);
}

const NIL_UUID = '00000000-0000-0000-0000-000000000000';
const LAST_UUID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** Takes the beginning of a UUID; returns what selects such rows, or undefined where it begins none. */
export function idBeginning(text: string) {
  const begins = text.toLowerCase();
  const least = begins + NIL_UUID.slice(begins.length);
  if (begins === '' || !/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(least)) return undefined;
  const last = begins + LAST_UUID.slice(begins.length);
  return (db: Selects) => selected(db).where('id', '>=', least).where('id', '<=', last);
}

/** An index has form and origin before the time: where one of them is open, each pair is walked by itself. */
function walksOf(filter: SubmissionFilter): SubmissionFilter[] {
  const { form, origin } = filter;
  if ((form === undefined && origin === undefined) || isNarrow(filter)) return [filter];
  const names = form === undefined ? (Object.keys(forms) as FormName[]) : [form];
  return names.flatMap((name) =>
    (origin === undefined ? origins : [origin]).map((one) => ({
      ...filter,
      form: name,
      origin: one,
    })),
  );
}

/** Whether an index finds few rows by something else than form and origin. */
function isNarrow({ status, email, search }: SubmissionFilter): boolean {
  return isOpen(status) || email !== undefined || search !== undefined;
}

/** Of these there are few, in an index of their own. */
function isOpen(status: SubmissionStatus | undefined): status is SubmissionStatus {
  return status !== undefined && status !== 'sending' && status !== 'delivered';
}

function ordered(
  storage: Dialect,
  db: Selects,
  filter: SubmissionFilter,
  between: Between,
  direction: 'asc' | 'desc',
) {
  const query = filtered(storage, db, filter, between);
  const { email, search } = filter;
  if (email === undefined && search === undefined) {
    return query.orderBy('received_ms', direction).orderBy('id', direction);
  }
  // Few are found, and sorted: by the bare columns a planner may walk all rows in their order instead.
  return query
    .orderBy((row) => row('received_ms', '+', row.lit(0)), direction)
    .orderBy('id', direction);
}

function filtered(
  { dialect }: Dialect,
  db: Selects,
  filter: SubmissionFilter,
  { after, before }: Between,
) {
  const { status, form, origin, since, until, email, search } = filter;
  let query = selected(db);
  if (status !== undefined) {
    query = query.where('status', '=', dialect.constant(status));
    // In the words of the index, by which a planner knows that it holds them.
    if (isOpen(status)) {
      query = query.where('status', 'not in', [
        dialect.constant('sending'),
        dialect.constant('delivered'),
      ]);
    }
  }
  if (form !== undefined) query = query.where('form', '=', form);
  if (origin !== undefined) query = query.where('origin', '=', origin);
  if (since !== undefined) query = query.where('received_ms', '>=', since.getTime());
  if (until !== undefined) query = query.where('received_ms', '<', until.getTime());
  if (email !== undefined) query = query.where('email', '=', email);
  if (search?.kind === 'reference') query = query.where('id', '=', search.id);
  if (search?.kind === 'telephone') query = query.where('telephone', '=', search.digits);
  if (search?.kind === 'address') query = query.where(dialect.beginsWith('email', search.begins));
  for (const [cursor, sign] of [[after, '>'] as const, [before, '<'] as const]) {
    if (cursor === undefined) continue;
    query = query.where((row) =>
      row(row.refTuple('received_ms', 'id'), sign, row.tuple(cursor.received_ms, cursor.id)),
    );
  }
  return query;
}

function selected(db: Selects) {
  return db
    .selectFrom('submissions')
    .select(['id', 'received_ms', 'event', 'status', 'reason', 'next_attempt_ms', 'attempts']);
}
