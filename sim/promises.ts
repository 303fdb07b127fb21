/** The promises about what is stored and delivered, checked after every event. */
import type { Receipt } from '../src/actions/receipt.ts';
import { faultOfTold } from './answers.ts';
import { type KeptRows, watchRows } from './kept-rows.ts';
import type { Key, Ledger } from './ledger.ts';
import { faultOfAnswer, NEVER_SENT, type Recorded } from './order.ts';
import type { Store } from './store.ts';
import { watchSubscribers } from './subscriber-rows.ts';
import { knewOfIt } from './wrong-failure.ts';

type ExecutionRow = { action_id: string; status: string };
type ClaimRow = Omit<Recorded, 'seenAt' | 'leaseEndsAt'> & {
  lease_started_ms: number;
  lease_ms: number;
};

/** Promise 2: every answer for a client and key has the same receipt, byte for byte. */
export function seeReceipt(ledger: Ledger, key: Key, receipt: Receipt): void {
  key.receipts.add(JSON.stringify(receipt));
  if (key.receipts.size > 1) ledger.violate(2, `${key.key}: ${[...key.receipts].join(' and ')}`);
  if (receipt.status === 'submitted') ledger.confirmed.add(receipt.action_id);
}

export type Watch = {
  /** Looks at what is committed, where something may have been. */
  look(): void;
  rows: KeptRows;
  isMarked(messageId: string): boolean;
  /** From now on receipts may go, by their age. */
  allowRetention(): void;
};

/** Watches the store of a run; the embedded destination delivers by being written. */
export function watch(
  store: Store,
  ledger: Ledger,
  course: { embedded: boolean; redelivery: boolean; time: () => number },
): Watch {
  const { embedded, redelivery, time } = course;
  const executions = new Map<string, Recorded>();
  const { medium } = store;
  const rows = watchRows(store, ledger, { embedded, time });
  const lookAtSubscribers = watchSubscribers(store, ledger, { embedded });
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

  /** Returns whether a status was not as before. */
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
      // Promise 4: a status moves only from none, asked or not, to executing to final.
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
      if (status === 'failed' && knewOfIt(ledger, medium.writer, id, lease, time())) {
        ledger.violate(10, `${id} was known to be confirmed, and it is failed`);
      }
    }
    if (present.length < executions.size && !retention) ledger.violate(4, 'a row is gone');
    return isChanged;
  }

  /** Promise 4: execution and submission never disagree in any commit, but where a yes comes late. */
  function seeAgreement(): void {
    for (const { action_id: id, status } of executions.values()) {
      const row = rows.find(id);
      // Promise 6: what was declined, reported or expired has no delivery.
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
        // Promise 5: there, delivery and settling are one, and no yes comes late.
        ledger.violate(embedded ? 5 : 4, `${id} is ${status}, and its submission ${row.status}`);
      }
    }
    for (const { id, origin } of rows.all()) {
      if (origin !== 'agent' || executions.has(id)) continue;
      ledger.violate(4, `${id} is a submission of no execution`);
    }
  }

  /** Promise 3: a 200 has exactly one delivery. */
  function seeConfirmed(id: string): void {
    const delivered = ledger.deliveries.get(id) ?? 0;
    // What is erased in the commit that delivers it is seen by nobody.
    if (delivered === 0 && embedded && ledger.erased.size > 0) return;
    if (delivered !== 1) ledger.violate(3, `${id} was answered 200, delivered ${delivered} times`);
  }

  return {
    look() {
      const { confirmed, asked, told } = ledger;
      if (!medium.touched && confirmed.size + asked.length + told.length === 0) return;
      if (medium.touched) {
        const present = store.read<ExecutionRow>('select action_id, status from executions');
        // A transaction is open: what it does is looked at after its end.
        if (present === undefined) return;
        medium.touched = false;
        const isChanged = seeExecutions(present);
        if (rows.look() || isChanged) seeAgreement();
        lookAtSubscribers();
      }
      confirmed.forEach(seeConfirmed);
      confirmed.clear();
      for (const one of told.splice(0)) {
        const fault = faultOfTold(ledger, rows, one, { embedded, redelivery });
        if (fault !== undefined) ledger.violate(11, `${one.mark} was told ${one.answer}: ${fault}`);
      }
      for (const one of asked.splice(0)) {
        const fault = retention ? undefined : faultOfAnswer(executions.values(), one);
        if (fault !== undefined) ledger.violate(12, fault);
      }
    },
    rows,
    isMarked: (messageId) => {
      const marked = store.read(
        "select 1 from messages where status = 'sent' and message_id = ?",
        messageId,
      );
      return (marked?.length ?? 0) > 0;
    },
    allowRetention: () => {
      retention = true;
    },
  };
}

/** Beyond §9, promise 4. */
const MOVES: Readonly<Record<string, readonly string[]>> = {
  asked: ['executing', 'declined', 'reported', 'expired'],
  executing: ['submitted', 'failed'],
};

/** What a submission may be while its execution is that. */
const AGREES: Readonly<Record<string, readonly string[]>> = {
  executing: ['sending'],
  submitted: ['delivered'],
  failed: ['undelivered', 'dismissed', 'delivered'],
};
