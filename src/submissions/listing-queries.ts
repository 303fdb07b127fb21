/**
 * The queries behind `listing.ts`. Each walks an index in the order of the pages and ends after as many rows as it
 * wants, however many there are: of a filter by status, form or origin a few walks are merged, which both databases
 * do row by row.
 */
import type { ExpressionBuilder } from 'kysely';
import { type FormName, forms } from '../forms/catalog.ts';
import type { Selects, Storage } from '../storage/database.ts';
import type { Schema, SubmissionRow, SubmissionStatus } from '../storage/schema.ts';
import type { Search } from './search.ts';

export const statuses = ['sending', 'delivered', 'waiting', 'undelivered', 'dismissed'] as const;
export const formNames = Object.keys(forms) as FormName[];
export const origins = ['browser', 'agent'] as const;

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

/** What is asked of an index: a search for words is asked of their rows, see `word-search.ts`. */
export type Filter = Omit<SubmissionFilter, 'search'> & {
  search?: Exclude<Search, { kind: 'words' | 'address' }> | undefined;
  /** What the address begins with: by the index over addresses. */
  begins?: string | undefined;
  /** The same, of rows that are met in another order. */
  beginning?: string | undefined;
  /** Texts that the body of the event has behind its `fields`, in any case of ASCII. */
  mentions?: readonly string[] | undefined;
};

/** A place in the order of `received_ms` and `id`. */
export type Cursor = Pick<SubmissionRow, 'received_ms' | 'id'>;

const CURSOR =
  /^(\d{1,15}(?:\.\d{1,6})?)_([\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12})$/;

/** Takes a place; returns it as an address has it. PostgreSQL's clock has fractions of a millisecond. */
export function writeCursor({ received_ms, id }: Cursor): string {
  return `${received_ms}_${id}`;
}

/** Takes what an address has; returns the place, or undefined where it is none. */
export function parseCursor(text: string): Cursor | undefined {
  const [, ms, id] = CURSOR.exec(text) ?? [];
  return ms === undefined || id === undefined ? undefined : { received_ms: Number(ms), id };
}

/** A part of that order; `from` and `to` are in it, the two others are not. */
export type Between = {
  after?: Cursor | undefined;
  from?: Cursor | undefined;
  before?: Cursor | undefined;
  to?: Cursor | undefined;
};

type Database = Pick<Storage, 'dialect' | 'kind'>;
type Part = Between & { direction: 'asc' | 'desc'; limit: number; offset?: number };

/** The places of up to `limit` rows, in order. */
export function keysOf(storage: Database, filter: Filter, part: Part) {
  const { direction, limit, offset = 0 } = part;
  const { constant } = storage.dialect;
  return (db: Selects) => {
    const inOrder = (walk: Filter) =>
      matching(storage, db, walk, part)
        .select(['received_ms', 'id'])
        .orderBy('received_ms', direction)
        .orderBy('id', direction);
    const last = <W extends ReturnType<typeof inOrder>>(walks: W) =>
      walks.limit(constant(limit)).offset(constant(offset));
    const [first, ...more] = walksOf(filter).map(inOrder);
    if (first === undefined) throw new Error('A filter that is no walk.');
    if (more.length === 0) return last(first);
    // In brackets, as it were: SQLite sorts no part of a union, but sees the order of what is in them. PostgreSQL
    // walks an index where it is told how few rows are wanted of it.
    const whole = (walk: typeof first) => {
      const some = storage.kind === 'postgres' ? walk.limit(constant(offset + limit)) : walk;
      return db.selectFrom(some.as('walk')).select(['received_ms', 'id']);
    };
    const all = more.reduce((union, walk) => union.unionAll(whole(walk)), whole(first));
    const merged = db.selectFrom(all.as('walks')).select(['received_ms', 'id']);
    return last(
      merged.orderBy('received_ms', direction).orderBy('id', direction) as never as typeof first,
    );
  };
}

/** The same with what was submitted; for a part that is not long. */
export function eventsOf(storage: Database, filter: Filter, part: Part) {
  return (db: Selects) =>
    db
      .selectFrom(keysOf(storage, filter, part)(db).as('found'))
      .innerJoin('submissions', 'submissions.id', 'found.id')
      .select(['submissions.id', 'submissions.received_ms', 'submissions.event'])
      .orderBy('found.received_ms', part.direction)
      .orderBy('found.id', part.direction);
}

/** How many there are, and no more than `atMost`: passing over so many takes a third of the time that counting them does. */
export function countOf(storage: Database, filter: Filter, atMost: number) {
  const { constant } = storage.dialect;
  return (db: Selects) => {
    const [first, ...more] = walksOf(filter).map((walk) =>
      matching(storage, db, walk, {}).select('id'),
    );
    if (first === undefined) throw new Error('A filter that is no walk.');
    const all = more.reduce((union, walk) => union.unionAll(walk), first);
    const some = db.selectFrom(all.as('walks')).select('id');
    const last = some.limit(constant(1)).offset(constant(atMost - 1));
    const counted = db
      .selectFrom(some.limit(constant(atMost)).as('counted'))
      .select((row) => row.fn.countAll<number>().as('rows'));
    return db.selectNoFrom((row) =>
      row.case().when(row.exists(last)).then(constant(atMost)).else(counted).end().as('rows'),
    );
  };
}

/** Those rows, in no order. */
export function rowsAt(keys: readonly Pick<Cursor, 'id'>[]) {
  const ids = keys.map(({ id }) => id);
  return (db: Selects) => selected(db).where('id', 'in', ids);
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

/**
 * An index has status, form and origin before the time: where one of them is open, each value of it is walked by
 * itself. What finds few rows by something else needs no such walk.
 */
function walksOf(filter: Filter): Filter[] {
  const { status, form, origin, email, search } = filter;
  const isOpen = status === undefined && form === undefined && origin === undefined;
  if (isOpen || email !== undefined || search !== undefined) return [filter];
  return valuesOf(status, statuses).flatMap((oneStatus) =>
    valuesOf(form, formNames).flatMap((oneForm) =>
      valuesOf(origin, origins).map((oneOrigin) => ({
        ...filter,
        status: oneStatus,
        form: oneForm,
        origin: oneOrigin,
      })),
    ),
  );
}

function valuesOf<Value>(given: Value | undefined, all: readonly Value[]): readonly Value[] {
  return given === undefined ? all : [given];
}

/** The rows of one walk, of which nothing is selected yet. */
export function matching(
  { dialect, kind }: Database,
  db: Selects,
  filter: Filter,
  { after, from, before, to }: Between,
) {
  const { status, form, origin, since, until, email, search } = filter;
  const { begins, beginning, mentions = [] } = filter;
  let query = db.selectFrom('submissions');
  if (status !== undefined) query = query.where('status', '=', status);
  if (form !== undefined) query = query.where('form', '=', form);
  if (origin !== undefined) query = query.where('origin', '=', origin);
  // Of two bounds at one end SQLite begins at the first, and passes over what is beyond the other one by one.
  const [lower, upper] = [after ?? from, before ?? to];
  if (since !== undefined && !(lower && lower.received_ms >= since.getTime())) {
    query = query.where('received_ms', '>=', since.getTime());
  }
  if (until !== undefined && !(upper && upper.received_ms < until.getTime())) {
    query = query.where('received_ms', '<', until.getTime());
  }
  if (email !== undefined) query = query.where('email', '=', email);
  if (search?.kind === 'reference') query = query.where('id', '=', search.id);
  if (search?.kind === 'telephone') query = query.where('telephone', '=', search.digits);
  if (begins !== undefined) query = query.where(dialect.beginsWith('email', begins));
  if (beginning !== undefined) query = query.where((row) => beginsWith(row, beginning));
  for (const text of mentions) query = query.where(dialect.mentions(text));
  const bounds = { '>': after, '>=': from, '<': before, '<=': to } as const;
  for (const [sign, cursor] of Object.entries(bounds) as [keyof typeof bounds, Cursor?][]) {
    if (cursor === undefined) continue;
    query = query.where((row) =>
      row(row.refTuple('received_ms', 'id'), sign, row.tuple(cursor.received_ms, cursor.id)),
    );
    // PostgreSQL takes a comparison of two columns for a third of all rows, whatever it is compared with.
    if (kind === 'postgres') {
      query = query.where('received_ms', sign.startsWith('>') ? '>=' : '<=', cursor.received_ms);
    }
  }
  return query;
}

/** In an expression: over the bare column SQLite would look through all addresses that begin so, and sort them. */
function beginsWith(row: ExpressionBuilder<Schema, 'submissions'>, beginning: string) {
  const { length } = [...beginning];
  return row(row.fn<string>('substr', ['email', row.lit(1), row.lit(length)]), '=', beginning);
}

function selected(db: Selects) {
  return db
    .selectFrom('submissions')
    .select(['id', 'received_ms', 'event', 'status', 'reason', 'next_attempt_ms', 'attempts']);
}
