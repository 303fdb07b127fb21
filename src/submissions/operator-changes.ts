/** Changes of the operator to a row: resending and dismissal (reference §13.4). */
import type { Clock } from '../platform/clock.ts';
import type { OpenTransaction, ReadOnly, Storage } from '../storage/database.ts';
import type { SubmissionRow } from '../storage/schema.ts';
import { type AttemptOutcome, parseAttempts } from './attempts.ts';
import { redactedColumns } from './submission-queries.ts';

/** Reason why a row can't be resent, or can't be dismissed. */
export type ChangeRefusal = 'unknown' | 'agent' | 'dismissed' | 'delivered' | 'underWay' | 'contentGone' | 'sentUnkept';

/** A row that is marked for a resend, and the number of its attempts before the mark. */
export type ResendRequest = { id: string; attempts: number };

type Refused = { kind: 'refused'; why: ChangeRefusal };

export const dismissalReasons = ['spam', 'answered', 'other'] as const;
export type DismissalReason = (typeof dismissalReasons)[number];

/** The columns that decide whether a row can change. */
const DECISIVE = ['id', 'origin', 'status', 'reason', 'email', 'resend_asked_ms', 'attempts'] as const;
type Decisive = Pick<SubmissionRow, (typeof DECISIVE)[number]>;

type Dialect = Pick<ReadOnly, 'dialect'>;

/** Marks a row for the running service, which is the only sender, or returns why the row can't be resent. */
export async function requestResend(
  storage: Dialect,
  tx: OpenTransaction,
  id: string,
): Promise<{ kind: 'asked'; asked: ResendRequest } | Refused> {
  const row = await lockRow(storage, tx, id);
  const why = row === undefined ? 'unknown' : whyNotSent(row);
  if (row === undefined || why !== undefined) return { kind: 'refused', why: why ?? 'unknown' };
  await tx
    .updateTable('submissions')
    .set({ resend_asked_ms: storage.dialect.wallClock })
    .where('id', '=', id)
    .execute();
  return { kind: 'asked', asked: { id, attempts: parseAttempts(row.attempts).length } };
}

/** Returns the ids of all browser submissions that are undelivered and can still be sent, oldest first. */
export async function undeliveredIds(storage: Storage): Promise<string[]> {
  const rows = await storage.read((db) =>
    db
      .selectFrom('submissions')
      .select(DECISIVE)
      .where('status', '=', 'undelivered')
      .where('origin', '=', 'browser')
      .orderBy('received_ms')
      .orderBy('id'),
  );
  return rows.filter((row) => whyNotSent(row) === undefined).map(({ id }) => id);
}

/** Dismisses a row permanently. Without `keepsContent`, deletes its content at once. */
export async function dismiss(
  storage: Dialect,
  tx: OpenTransaction,
  id: string,
  { reason, keepsContent }: { reason: DismissalReason; keepsContent: boolean },
): Promise<{ kind: 'dismissed' } | Refused> {
  const row = await lockRow(storage, tx, id);
  const why = row === undefined ? 'unknown' : whyNotDismissed(row);
  if (why !== undefined) return { kind: 'refused', why };
  await tx
    .updateTable('submissions')
    .set({
      status: 'dismissed',
      // A submission that was sent unstored is never sent again.
      reason: row?.reason === 'sent_unkept' ? row.reason : reason,
      status_since_ms: storage.dialect.wallClock,
      step: null,
      next_attempt_ms: null,
      ...(!keepsContent && redactedColumns(storage)),
    })
    .where('id', '=', id)
    .execute();
  return { kind: 'dismissed' };
}

async function lockRow({ dialect }: Dialect, tx: OpenTransaction, id: string): Promise<Decisive | undefined> {
  const row = tx.selectFrom('submissions').select(DECISIVE).where('id', '=', id);
  return await row.$call(dialect.forUpdate).executeTakeFirst();
}

function whyNotSent(row: Decisive): ChangeRefusal | undefined {
  if (row.origin === 'agent') return 'agent';
  if (isUnderWay(row)) return 'underWay';
  if (row.reason === 'sent_unkept') return 'sentUnkept';
  return row.email === null ? 'contentGone' : undefined;
}

function whyNotDismissed(row: Decisive): ChangeRefusal | undefined {
  if (isUnderWay(row)) return 'underWay';
  return row.status === 'dismissed' || row.status === 'delivered' ? row.status : undefined;
}

function isUnderWay(row: Pick<Decisive, 'status' | 'resend_asked_ms'>): boolean {
  return row.status === 'sending' || row.resend_asked_ms !== null;
}

/** If no row changes for this time, no service is running. A running service reads marks far more often. */
const NO_SERVICE_AFTER_MS = 30_000;
const POLL_EVERY_MS = 250;
/** Number of rows in one read. The service sends the rows in the same order. */
const BATCH_ROWS = 200;

export type Resent =
  | { id: string; kind: 'ended'; outcome: AttemptOutcome }
  /** The row or its content was deleted meanwhile. */
  | { id: string; kind: 'gone' }
  /** The service did not attempt the row, which stays marked. */
  | { id: string; kind: 'notTaken' };

/** Yields each marked row once the running service has attempted it. Ends if no attempt starts or ends for 30 s. */
export async function* resent(
  storage: Storage,
  clock: Pick<Clock, 'monotonic' | 'sleep'>,
  asked: readonly ResendRequest[],
): AsyncGenerator<Resent> {
  let left = [...asked];
  let progressAt = clock.monotonic();
  while (left.length > 0) {
    const { ended, isSending } = await readResults(storage, left.slice(0, BATCH_ROWS));
    yield* ended;
    left = left.filter(({ id }) => !ended.some((one) => one.id === id));
    if (isSending || ended.length > 0) progressAt = clock.monotonic();
    if (clock.monotonic() - progressAt >= NO_SERVICE_AFTER_MS) break;
    if (left.length > 0) await clock.sleep(POLL_EVERY_MS);
  }
  for (const { id } of left) yield { id, kind: 'notTaken' };
}

async function readResults(storage: Storage, asked: readonly ResendRequest[]) {
  const ids = asked.map(({ id }) => id);
  const rows = await storage.read((db) => db.selectFrom('submissions').select(DECISIVE).where('id', 'in', ids));
  const byId = new Map(rows.map((row) => [row.id, row]));
  return {
    ended: asked.flatMap((one) => endOf(byId.get(one.id), one) ?? []),
    isSending: rows.some(({ status }) => status === 'sending'),
  };
}

/** Returns undefined while the row is marked or its attempt is under way. */
function endOf(row: Decisive | undefined, { id, attempts }: ResendRequest): Resent | undefined {
  if (row === undefined) return { id, kind: 'gone' };
  if (isUnderWay(row)) return undefined;
  const since = parseAttempts(row.attempts).slice(attempts);
  const own = since.findLast(({ by }) => by === 'operator');
  if (own !== undefined) return { id, kind: 'ended', outcome: own.outcome };
  return row.email === null ? { id, kind: 'gone' } : undefined;
}
