/** Checks the invariants of stored and delivered data after every event. */
import type { Receipt } from '../src/actions/executions.ts';
import { faultOfFormAnswer } from './answers.ts';
import { TESTER } from './clients.ts';
import { watchConnections } from './connection-rows.ts';
import type { Extras } from './extras.ts';
import { type WatchedRows, watchRows } from './kept-rows.ts';
import type { Key, Ledger } from './ledger.ts';
import { faultOfAnswer, NEVER_SENT, type Recorded } from './order.ts';
import type { Store } from './store.ts';
import { watchSubscribers } from './subscriber-rows.ts';
import { isWrongFailure } from './wrong-failure.ts';

type ExecutionRow = { action_id: string; status: string; sandbox: number };
type ClaimRow = Omit<Recorded, 'seenAt' | 'leaseEndsAt'> & {
  lease_started_ms: number;
  lease_ms: number;
};

/** Checks invariant 2: every answer for a client and key has the same receipt, byte for byte. */
export function seeReceipt(ledger: Ledger, key: Key, receipt: Receipt): void {
  key.receipts.add(JSON.stringify(receipt));
  if (key.receipts.size > 1) ledger.violate(2, `${key.key}: ${[...key.receipts].join(' and ')}`);
  if (receipt.status === 'submitted' && key.client !== TESTER) ledger.confirmed.add(receipt.action_id);
}

export type Watch = {
  /** Checks the committed data and the new answers, if there are any. */
  check(): void;
  rows: WatchedRows;
  isMarked(messageId: string): boolean;
  /** From now on, retention may delete receipts. */
  allowRetention(): void;
};

/** Watches the store of a run. With the embedded destination, the commit of a row is its delivery. */
export function watch(
  store: Store,
  ledger: Ledger,
  course: { embedded: boolean; redelivery: boolean; extras: Extras; time: () => number },
): Watch {
  const { embedded, redelivery, extras, time } = course;
  const executions = new Map<string, Recorded>();
  const { medium } = store;
  const rows = watchRows(store, ledger, { embedded, extras, time });
  const checkSubscribers = watchSubscribers(store, ledger, { embedded });
  const checkHosts = extras.hosts > 0 ? watchConnections(store, ledger) : () => {};
  let retention = false;

  function seeClaim(id: string): void {
    const [row] = store.read<ClaimRow>('select * from executions where action_id = ?', id) ?? [];
    if (row === undefined) return;
    const leaseEndsAt = time() + row.lease_started_ms + row.lease_ms - medium.leaseClock();
    executions.set(id, { ...row, seenAt: time(), leaseEndsAt });
    const { client, idempotency_key: key } = row;
    if (key.startsWith('mistake-')) ledger.violate(6, `${key} left a row`);
    ledger.note(() => {
      const until = (leaseEndsAt / 1000).toFixed(3);
      return `${medium.writer?.name} claims ${id} for ${client}/${key}, its lease runs until ${until} s`;
    });
  }

  /** Returns true if an execution is new or has another status. */
  function seeExecutions(present: readonly ExecutionRow[]): boolean {
    let isChanged = false;
    for (const { action_id: id, status } of present) {
      if (!executions.has(id)) {
        seeClaim(id);
        isChanged = true;
      }
      const known = executions.get(id);
      if (known === undefined || known.status === status) continue;
      isChanged = true;
      // Invariant 4: a status moves from none to executing to final. The status may be `asked` before it is
      // `executing`.
      if (!MOVES[known.status]?.includes(status)) {
        ledger.violate(4, `${id} was ${known.status}, and is ${status}`);
      }
      if (status === 'executing') {
        const { seenAt } = known;
        seeClaim(id);
        executions.set(id, { ...(executions.get(id) ?? known), seenAt });
        continue;
      }
      known.status = status;
      ledger.note(() => `${medium.writer?.name} settles ${id} as ${status}`);
      const lease = { from: 0, until: known.leaseEndsAt };
      if (status === 'failed' && isWrongFailure(ledger, medium.writer, id, lease, time())) {
        ledger.violate(10, `${id} was known to be confirmed, and it is failed`);
      }
    }
    // Tests of sandbox clients are deleted after a day.
    const isReal = (row: { sandbox: number }) => row.sandbox === 0;
    const real = executions.values().filter(isReal).toArray();
    if (present.filter(isReal).length < real.length && !retention) ledger.violate(4, 'a row is gone');
    return isChanged;
  }

  /** Checks invariant 4: execution and submission agree in every commit, unless a confirmation arrives late. */
  function seeAgreement(): void {
    for (const { action_id: id, status, sandbox: isTest } of executions.values()) {
      const row = rows.find(id);
      // Invariant 14: nothing of a sandbox client is stored as a submission.
      if (isTest === 1) {
        if (row !== undefined) ledger.violate(14, `${id} of a sandbox client has a submission`);
        continue;
      }
      // Invariant 6: a declined, reported or expired execution has no delivery.
      if (NEVER_SENT.has(status) && (ledger.deliveries.get(id) ?? 0) > 0) {
        ledger.violate(6, `${id} is ${status}, and was delivered`);
      }
      if (row === undefined) {
        const hasOne = status !== 'asked' && !NEVER_SENT.has(status);
        const isThere = hasOne && (!embedded || status === 'submitted');
        if (isThere && !rows.isGone(id) && ledger.erased.size === 0) {
          ledger.violate(4, `${id} is ${status}, and has no submission`);
        }
      } else if (embedded ? status !== 'submitted' : !AGREES[status]?.includes(row.status)) {
        // Invariant 5: the embedded destination delivers and settles in one commit, so that no confirmation arrives
        // late.
        ledger.violate(embedded ? 5 : 4, `${id} is ${status}, and its submission ${row.status}`);
      }
    }
    // Invariant 6: a mailbox that reported a client has no pending confirmation of that client.
    for (const { id } of store.read<{ id: string }>(PENDING_OF_REPORTED) ?? []) {
      ledger.violate(6, `${id} is asked of a mailbox that reported its client`);
    }
    for (const { id, origin } of rows.all()) {
      if (origin !== 'agent' || executions.has(id)) continue;
      ledger.violate(4, `${id} is a submission of no execution`);
    }
  }

  /** Checks invariant 3: a 200 has exactly one delivery. */
  function seeConfirmed(id: string): void {
    const delivered = ledger.deliveries.get(id) ?? 0;
    // An erasure in the commit of the delivery hides the delivery from the run.
    if (delivered === 0 && embedded && ledger.erased.size > 0) return;
    if (delivered !== 1) ledger.violate(3, `${id} was answered 200, delivered ${delivered} times`);
  }

  return {
    check() {
      const { confirmed, executeAnswers, formAnswers } = ledger;
      if (!medium.touched && confirmed.size + executeAnswers.length + formAnswers.length === 0) return;
      if (medium.touched) {
        const present = store.read<ExecutionRow>('select action_id, status, sandbox from executions');
        // A transaction is open. The first call after the transaction's end reads the changes.
        if (present === undefined) return;
        medium.touched = false;
        const isChanged = seeExecutions(present);
        if (rows.refresh() || isChanged) seeAgreement();
        checkSubscribers();
        checkHosts();
      }
      confirmed.forEach(seeConfirmed);
      confirmed.clear();
      for (const one of formAnswers.splice(0)) {
        const fault = faultOfFormAnswer(ledger, rows, one, { embedded, redelivery });
        if (fault !== undefined) ledger.violate(11, `${one.mark} was told ${one.answer}: ${fault}`);
      }
      for (const one of executeAnswers.splice(0)) {
        const fault = retention ? undefined : faultOfAnswer(executions.values(), one);
        if (fault !== undefined) ledger.violate(12, fault);
      }
    },
    rows,
    isMarked: (messageId) => {
      const marked = store.read("select 1 from messages where status = 'sent' and message_id = ?", messageId);
      return (marked?.length ?? 0) > 0;
    },
    allowRetention: () => {
      retention = true;
    },
  };
}

/** Moves that an execution may make (reference §25.2). */
const MOVES: Readonly<Record<string, readonly string[]>> = {
  asked: ['executing', 'declined', 'reported', 'expired'],
  executing: ['submitted', 'failed'],
};

/**
 * Selects the pending confirmations of reported clients. The query excludes a row that was already due at the report,
 * because the next sweep ends such a row as expired.
 */
const PENDING_OF_REPORTED = `
  select confirmations.id from confirmations
  join executions on executions.action_id = confirmations.id
  join confirmation_reports using (client, mailbox_digest)
  where executions.status = 'asked' and confirmations.expires_at > confirmation_reports.reported_at`;

/** Statuses that a submission may have, by the status of its execution. */
const AGREES: Readonly<Record<string, readonly string[]>> = {
  executing: ['sending'],
  submitted: ['delivered'],
  failed: ['undelivered', 'dismissed', 'delivered'],
};
