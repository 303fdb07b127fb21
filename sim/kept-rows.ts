/** Watches the rows of submissions after every event: invariants 4, 7, 9 and 10. */
import type { SubmissionRow } from '../src/storage/schema.ts';
import { parseAttempts } from '../src/submissions/attempts.ts';
import type { Event } from '../src/upstream/upstream.ts';
import { TESTER } from './clients.ts';
import { markOf, seeDelivery } from './deliveries.ts';
import type { Extras } from './extras.ts';
import type { Ledger } from './ledger.ts';
import { mailboxOf } from './ledger.ts';
import { faultOfMove } from './moves.ts';
import { watchOwed } from './owed.ts';
import { faultOfSchedule } from './schedule.ts';
import type { Store } from './store.ts';
import { couldWrite, isWrongFailure } from './wrong-failure.ts';

/** A row as the watch last read it. */
type Watched = SubmissionRow & {
  mark: string;
  address: string;
  /** Time at which the row was first seen after a failed attempt. Undefined if the row has no retry step. */
  inVainSince: number | undefined;
  leaseEndsAt: number;
  /** Time at which the current state of the row was first seen. */
  changedAt: number;
};

export type WatchedRows = {
  /** Reads the committed rows. Returns true if a row changed. */
  refresh(): boolean;
  find(id: string): Watched | undefined;
  /** Returns all rows of one sent form, by the mark of the form. */
  of(mark: string): Watched[];
  all(): Iterable<Watched>;
  isGone(id: string): boolean;
};

type Brief = Pick<SubmissionRow, 'id' | 'status' | 'attempt_number'>;

/** Opens the watch. With the embedded destination, the commit of a row is its delivery. */
export function watchRows(
  store: Store,
  ledger: Ledger,
  { embedded, extras, time }: { embedded: boolean; extras: Extras; time: () => number },
): WatchedRows {
  const seeMessages = watchOwed(store, ledger, extras);
  const { medium } = store;
  const rows = new Map<string, Watched>();
  const gone = new Set<string>();
  /** Name of the process that last inserted each row. */
  const insertedBy = new Map<string, string | undefined>();

  /** Reads a row, and copies the values that only the watch has from the previous read. */
  function read(id: string, previous: Watched | undefined): Watched | undefined {
    const row = store.read<SubmissionRow>('select * from submissions where id = ?', id)?.[0];
    if (row === undefined) return undefined;
    const event: Event = JSON.parse(row.event);
    const isInVain = row.step !== null;
    return {
      ...row,
      mark: previous?.mark ?? markOf(event),
      address: previous?.address ?? event.data.fields.email ?? '',
      changedAt: time(),
      inVainSince: isInVain ? (previous?.inVainSince ?? time()) : undefined,
      leaseEndsAt: time() + (row.lease_started_ms ?? 0) + (row.lease_ms ?? 0) - medium.leaseClock(),
    };
  }

  /**
   * Returns true if a claim and its settlement as `failed` became visible in one commit. The claiming process was
   * stopped beyond its lease.
   */
  function hasFailedAtOnce({ id, origin, status }: Watched): boolean {
    if (origin !== 'agent' || status !== 'undelivered') return false;
    const ofIt = 'select status from executions where action_id = ?';
    return store.read<{ status: string }>(ofIt, id)?.[0]?.status === 'failed';
  }

  function seeNew(row: Watched): void {
    const { id, status, origin } = row;
    if (row.client === TESTER) ledger.violate(14, `${id} of a sandbox client is stored`);
    ledger.note(() => `${medium.writer?.name} keeps ${id} of ${row.mark} as ${status}`);
    // After a commit with an unknown outcome, the same process may insert an erased submission again, as if it were
    // new.
    const by = medium.writer?.name;
    const mayHaveCommitted = ['commit with an unknown outcome', 'statement fails after its effect'];
    const isUnknown = mayHaveCommitted.some((fault) => ledger.faults.has(fault)) && insertedBy.get(id) === by;
    if (gone.has(id) && !(status === 'sending' && isUnknown)) {
      ledger.violate(9, `${id} was gone, and is back`);
    }
    insertedBy.set(id, by);
    gone.delete(id);
    if (embedded) {
      if (status !== 'delivered') ledger.violate(4, `${id} begins as ${status}`);
      seeDelivery(ledger, JSON.parse(row.event), row.event);
      return;
    }
    const isUnstored = origin === 'browser' && ledger.unstored.has(id);
    if (status !== 'sending' && !isUnstored && !hasFailedAtOnce(row)) {
      ledger.violate(4, `${id} begins as ${status}`);
    }
    if (origin === 'browser') seeSecond(row);
  }

  /** Checks invariant 9: a person who resends a failed submission gets no second row. */
  function seeSecond({ id, mark, fields_digest: digest }: Watched): void {
    // After a step of a clock, the first row may seem to be a day old.
    if (digest === null || ledger.stepped) return;
    const requestedAt = ledger.requestedAt.get(mark) ?? 0;
    for (const other of rows.values()) {
      const isEqual = other.id !== id && other.fields_digest === digest;
      if (!isEqual || other.inVainSince === undefined || other.inVainSince >= requestedAt) continue;
      ledger.violate(9, `${mark} waited as ${other.id}, and was kept again as ${id}`);
    }
  }

  function seeChange(before: Watched, after: Watched): void {
    const { id, status } = after;
    const attempt = `attempt ${after.attempt_number} by ${after.attempt_by}`;
    ledger.note(() => `${medium.writer?.name} makes ${id} ${status}, ${attempt}`);
    const fault = faultOfMove(before, after);
    if (fault !== undefined) ledger.violate(4, `${id} ${fault}`);
    if (after.origin === 'agent' || status === 'sending' || status === 'dismissed') return;
    const lines = parseAttempts(after.attempts);
    if (lines.length !== after.attempt_number) {
      ledger.violate(9, `${id} lists ${lines.length} attempts of ${after.attempt_number}`);
    }
    const isFailure = status !== 'delivered' && before.resumed_status !== 'delivered';
    const until = before.leaseEndsAt;
    const lease = { from: until - (before.lease_ms ?? 0) - 1, until };
    if (isFailure && isWrongFailure(ledger, medium.writer, id, lease, time())) {
      ledger.violate(10, `${id} was known to be confirmed, and is ${status}`);
    }
    const learned = ledger.learned.get(id);
    const isInTime = learned !== undefined && learned.at <= until;
    const isKnown = isInTime && couldWrite(learned, medium.writer, time());
    const isFirst = after.attempt_number === 1;
    if (ledger.unstored.has(id) && isFirst && status === 'waiting' && isKnown) {
      ledger.violate(9, `${id} was sent unkept, and is to be sent again`);
    }
    const late = faultOfSchedule(before, after, lines, {
      learned: learned?.outcome,
      sinceLeaseMs: ledger.faults.has('restart of a machine') ? undefined : time() - until,
      sinceLearnedMs: learned !== undefined && learned.at >= lease.from ? time() - learned.at : undefined,
      now: medium.wallClock(medium.writer),
      isMoved: medium.movedAt >= lease.from || ledger.stepped,
    });
    if (late !== undefined) ledger.violate(7, `${id} ${late}`);
    if (status === 'delivered') seeDelivered(before, after);
  }

  /** Records an owed message. A subscription is marked as delivered together with its message (invariant 8). */
  function seeDelivered(before: Watched, row: Watched): void {
    const isSubscription = row.form === 'newsletter' && row.mark.startsWith('visit-');
    if (!isSubscription || before.resumed_status === 'delivered') return;
    const [subscriber] = subscriberOf(row);
    const outcome = ledger.learned.get(row.id)?.outcome;
    const isKnown = outcome?.kind === 'confirmed' && outcome.known && row.attempt_by === 'first';
    if (subscriber?.status !== 'pending' || (isKnown && subscriber.made_by === row.id)) return;
    ledger.owed.push({ mailbox: mailboxOf(row.address), by: undefined });
  }

  function subscriberOf({ subscriber_id: id }: Watched) {
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
      // The sweep deletes the row of a subscriber who never confirmed.
      const hasRunOut = row.subscriber_id !== null && subscriberOf(row).length === 0;
      if (!ledger.erased.has(address) && !hasRunOut) ledger.violate(9, `${id} is gone`);
    }
  }

  return {
    refresh() {
      const present = store.read<Brief>('select id, status, attempt_number from submissions order by id') ?? [];
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
        seeMessages(before, after);
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
