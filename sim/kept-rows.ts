/** The rows of submissions, watched after every event: promises 4, 7, 9 and 10. */
import type { SubmissionRow } from '../src/storage/schema.ts';
import { attemptsOf } from '../src/submissions/attempts.ts';
import type { Event } from '../src/upstream/upstream.ts';
import { markOf, seeDelivery } from './deliveries.ts';
import type { Ledger } from './ledger.ts';
import { mailboxOf } from './ledger.ts';
import { faultOfMove } from './moves.ts';
import { faultOfSchedule } from './schedule.ts';
import type { Store } from './store.ts';
import { couldWrite, knewOfIt } from './wrong-failure.ts';

/** A row as it was last seen. */
type Kept = SubmissionRow & {
  mark: string;
  address: string;
  /** When it was first seen to have been tried in vain; undefined where it is not. */
  inVainSince: number | undefined;
  leaseEndsAt: number;
  /** When it was seen to have become what it is. */
  changedAt: number;
};

export type KeptRows = {
  /** Looks at what is committed; returns whether a row was not as before. */
  look(): boolean;
  find(id: string): Kept | undefined;
  /** Every row of a form that was sent. */
  of(mark: string): Kept[];
  all(): Iterable<Kept>;
  isGone(id: string): boolean;
};

type Brief = Pick<SubmissionRow, 'id' | 'status' | 'attempt_number'>;

/** Takes whether the destination is embedded: it delivers by being written. */
export function watchRows(
  store: Store,
  ledger: Ledger,
  { embedded, time }: { embedded: boolean; time: () => number },
): KeptRows {
  const { medium } = store;
  const rows = new Map<string, Kept>();
  const gone = new Set<string>();
  /** The process that first kept each. */
  const keptBy = new Map<string, string | undefined>();

  /** What the row is now, with what was known of it. */
  function read(id: string, known: Kept | undefined): Kept | undefined {
    const row = store.read<SubmissionRow>('select * from submissions where id = ?', id)?.[0];
    if (row === undefined) return undefined;
    const event: Event = JSON.parse(row.event);
    const isInVain = row.step !== null;
    return {
      ...row,
      mark: known?.mark ?? markOf(event),
      address: known?.address ?? event.data.fields.email ?? '',
      changedAt: time(),
      inVainSince: isInVain ? (known?.inVainSince ?? time()) : undefined,
      leaseEndsAt: time() + (row.lease_started_ms ?? 0) + (row.lease_ms ?? 0) - medium.leaseClock(),
    };
  }

  /** The claim of a process that was stopped until its lease was over, and what recovery says of it, in one commit. */
  function hasFailedAtOnce({ id, origin, status }: Kept): boolean {
    if (origin !== 'agent' || status !== 'undelivered') return false;
    const ofIt = 'select status from executions where action_id = ?';
    return store.read<{ status: string }>(ofIt, id)?.[0]?.status === 'failed';
  }

  function seeNew(row: Kept): void {
    const { id, status, origin } = row;
    ledger.note(() => `${medium.writer?.name} keeps ${id} of ${row.mark} as ${status}`);
    // Its own process, which does not know that it had been kept, keeps it after the erasure: as one that came then.
    const by = medium.writer?.name;
    const isUnknown = ledger.faults.has('commit with an unknown outcome') && keptBy.get(id) === by;
    if (gone.has(id) && !(status === 'sending' && isUnknown)) {
      ledger.violate(9, `${id} was gone, and is back`);
    }
    keptBy.set(id, by);
    gone.delete(id);
    if (embedded) {
      if (status !== 'delivered') ledger.violate(4, `${id} begins as ${status}`);
      seeDelivery(ledger, JSON.parse(row.event), row.event);
      return;
    }
    const isUnkept = origin === 'browser' && ledger.unkept.has(id);
    if (status !== 'sending' && !isUnkept && !hasFailedAtOnce(row)) {
      ledger.violate(4, `${id} begins as ${status}`);
    }
    if (origin === 'browser') seeSecond(row);
  }

  /** Promise 9: who sends again what was sent in vain has no second row. */
  function seeSecond({ id, mark, fields_digest: digest }: Kept): void {
    // By a clock that was set the first may be a day old.
    if (digest === null || ledger.stepped) return;
    const askedAt = ledger.askedAt.get(mark) ?? 0;
    for (const other of rows.values()) {
      const isEqual = other.id !== id && other.fields_digest === digest;
      if (!isEqual || other.inVainSince === undefined || other.inVainSince >= askedAt) continue;
      ledger.violate(9, `${mark} waited as ${other.id}, and was kept again as ${id}`);
    }
  }

  function seeChange(before: Kept, after: Kept): void {
    const { id, status } = after;
    const attempt = `attempt ${after.attempt_number} by ${after.attempt_by}`;
    ledger.note(() => `${medium.writer?.name} makes ${id} ${status}, ${attempt}`);
    const fault = faultOfMove(before, after);
    if (fault !== undefined) ledger.violate(4, `${id} ${fault}`);
    if (after.origin === 'agent' || status === 'sending' || status === 'dismissed') return;
    const lines = attemptsOf(after.attempts);
    if (lines.length !== after.attempt_number) {
      ledger.violate(9, `${id} lists ${lines.length} attempts of ${after.attempt_number}`);
    }
    const isFailure = status !== 'delivered' && before.resumed_status !== 'delivered';
    const until = before.leaseEndsAt;
    const lease = { from: until - (before.lease_ms ?? 0) - 1, until };
    if (isFailure && knewOfIt(ledger, medium.writer, id, lease, time())) {
      ledger.violate(10, `${id} was known to be confirmed, and is ${status}`);
    }
    const learned = ledger.learned.get(id);
    const isInTime = learned !== undefined && learned.at <= until;
    const isKnown = isInTime && couldWrite(learned, medium.writer, time());
    const isFirst = after.attempt_number === 1;
    if (ledger.unkept.has(id) && isFirst && status === 'waiting' && isKnown) {
      ledger.violate(9, `${id} was sent unkept, and is to be sent again`);
    }
    const late = faultOfSchedule(before, after, lines, {
      learned: learned?.outcome,
      sinceLeaseMs: ledger.faults.has('restart of a machine') ? undefined : time() - until,
      now: medium.wallClock(medium.writer),
      isMoved: time() - medium.movedAt < 10_000 || ledger.stepped,
    });
    if (late !== undefined) ledger.violate(7, `${id} ${late}`);
    if (status === 'delivered') seeDelivered(before, after);
  }

  /** Promise 8: a subscription that is written as delivered is written with its message. */
  function seeDelivered(before: Kept, row: Kept): void {
    const isSubscription = row.form === 'newsletter' && row.mark.startsWith('visit-');
    if (!isSubscription || before.resumed_status === 'delivered') return;
    const [asked] = subscriberOf(row);
    const outcome = ledger.learned.get(row.id)?.outcome;
    const isKnown = outcome?.kind === 'confirmed' && outcome.known && row.attempt_by === 'first';
    if (asked?.status !== 'pending' || (isKnown && asked.made_by === row.id)) return;
    ledger.owed.push({ mailbox: mailboxOf(row.address), by: undefined });
  }

  function subscriberOf({ subscriber_id: id }: Kept) {
    const sql = 'select status, made_by from subscribers where id = ?';
    return store.read<{ status: string; made_by: string }>(sql, id) ?? [];
  }

  function seeGone(present: readonly Brief[]): void {
    const ids = new Set(present.map(({ id }) => id));
    for (const row of rows.values()) {
      const { id, address } = row;
      if (ids.has(id)) continue;
      rows.delete(id);
      gone.add(id);
      // With a subscriber who never confirmed.
      const hasRunOut = row.subscriber_id !== null && subscriberOf(row).length === 0;
      if (!ledger.erased.has(address) && !hasRunOut) ledger.violate(9, `${id} is gone`);
    }
  }

  return {
    look() {
      const present =
        store.read<Brief>('select id, status, attempt_number from submissions order by id') ?? [];
      let isChanged = false;
      for (const { id, status, attempt_number: number } of present) {
        const before = rows.get(id);
        if (before?.status === status && before.attempt_number === number) continue;
        const after = read(id, before);
        if (after === undefined) continue;
        isChanged = true;
        rows.set(id, after);
        if (before === undefined) seeNew(after);
        else seeChange(before, after);
      }
      if (present.length < rows.size) seeGone(present);
      return isChanged;
    },
    find: (id) => rows.get(id),
    of: (mark) => [...rows.values()].filter((row) => row.mark === mark),
    all: () => rows.values(),
    isGone: (id) => gone.has(id),
  };
}
