/**
 * Waits for what the running service makes of the rows that the operator has marked (beyond §1, "The
 * operator"): its redelivery takes each, so that it is sent under the one fence that all attempts have.
 */
import type { Clock } from '../clock.ts';
import type { Storage } from '../storage/database.ts';
import type { SubmissionRow } from '../storage/schema.ts';
import { type AttemptOutcome, attemptsOf } from './attempts.ts';
import type { Asked } from './operator-changes.ts';

/** A service that runs looks for marks far more often than that. */
const NOBODY_AFTER_MS = 30_000;
const LOOK_EVERY_MS = 250;
/** So many are looked at together, in the order in which they were asked for: the service's own. */
const AT_ONCE = 200;

export type Resent =
  | { id: string; kind: 'ended'; outcome: AttemptOutcome }
  /** Erased meanwhile, or its content went. */
  | { id: string; kind: 'gone' }
  /** It stays marked. */
  | { id: string; kind: 'notTaken' };

type Seen = Pick<SubmissionRow, 'id' | 'status' | 'email' | 'resend_asked_ms' | 'attempts'>;

/**
 * Yields each when it was attempted. Once no service has taken or ended one for 30 s, the rest is not waited
 * for.
 */
export async function* resent(
  storage: Storage,
  clock: Pick<Clock, 'monotonic' | 'sleep'>,
  asked: readonly Asked[],
): AsyncGenerator<Resent> {
  let left = [...asked];
  let stirred = clock.monotonic();
  while (left.length > 0) {
    const { ended, isSending } = await lookAt(storage, left.slice(0, AT_ONCE));
    yield* ended;
    left = left.filter(({ id }) => !ended.some((one) => one.id === id));
    if (isSending || ended.length > 0) stirred = clock.monotonic();
    if (clock.monotonic() - stirred >= NOBODY_AFTER_MS) break;
    if (left.length > 0) await clock.sleep(LOOK_EVERY_MS);
  }
  for (const { id } of left) yield { id, kind: 'notTaken' };
}

async function lookAt(storage: Storage, asked: readonly Asked[]) {
  const rows = await storage.read((db) =>
    db
      .selectFrom('submissions')
      .select(['id', 'status', 'email', 'resend_asked_ms', 'attempts'])
      .where(
        'id',
        'in',
        asked.map(({ id }) => id),
      ),
  );
  const byId = new Map(rows.map((row) => [row.id, row]));
  return {
    ended: asked.flatMap((one) => endOf(byId.get(one.id), one) ?? []),
    isSending: rows.some(({ status }) => status === 'sending'),
  };
}

/** Undefined while the mark is there, or the attempt that it asked for is under way. */
function endOf(row: Seen | undefined, { id, attempts }: Asked): Resent | undefined {
  if (row === undefined) return { id, kind: 'gone' };
  if (row.status === 'sending' || row.resend_asked_ms !== null) return undefined;
  const since = attemptsOf(row.attempts).slice(attempts);
  const own = since.findLast(({ by }) => by === 'operator');
  if (own !== undefined) return { id, kind: 'ended', outcome: own.outcome };
  return row.email === null ? { id, kind: 'gone' } : undefined;
}
