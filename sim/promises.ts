/** The promises about what is stored and delivered, checked after every event. */
import type { Receipt } from '../src/actions/receipt.ts';
import { RECOVER_EVERY_MS } from '../src/actions/recovery.ts';
import type { Event } from '../src/upstream/upstream.ts';
import { count, type Key, type Ledger, type Told } from './ledger.ts';
import { faultOfAnswer, type Recorded } from './order.ts';
import type { Store } from './store.ts';

type ExecutionRow = { action_id: string; status: string };
type ClaimRow = Omit<Recorded, 'seenAt' | 'leaseEndsAt'> & {
  lease_started_ms: number;
  lease_ms: number;
};
type InboxRow = { event_id: string; event: string };

/** Within so much of an unhindered life a process has written what it knew. */
const WRITES_WITHIN_MS = RECOVER_EVERY_MS + 1_000;

/** Promise 1: at most one delivery for a preview; and for a form that was sent once. */
export function seeDelivery(ledger: Ledger, { data }: Event): void {
  ledger.note(() => `the destination reads ${data.id}`);
  count(ledger.deliveries, data.id);
  const mark = markOf(data);
  if (count(ledger.deliveredFor, mark) > 1) ledger.violate(1, `${mark} was delivered twice`);
  if (ledger.unsent.has(mark)) ledger.violate(10, `${mark} was told that nothing was sent`);
}

/** What is in no other submission: of a subscription its origin, for addresses come again. */
export function markOf({ fields }: Event['data']): string {
  return fields.contractor ?? fields.email ?? '';
}

/** Promise 2: every answer for a client and key has the same receipt, byte for byte. */
export function seeReceipt(ledger: Ledger, key: Key, receipt: Receipt): void {
  key.receipts.add(JSON.stringify(receipt));
  if (key.receipts.size > 1) ledger.violate(2, `${key.key}: ${[...key.receipts].join(' and ')}`);
  if (receipt.status === 'submitted') ledger.confirmed.add(receipt.action_id);
}

export type Watch = {
  /** Looks at what is committed, where something may have been. */
  look(): void;
  statusOf(actionId: string): string | undefined;
  isMarked(messageId: string): boolean;
  /** From now on receipts may go, by their age. */
  allowRetention(): void;
};

/** Watches the store of a run; the embedded destination delivers by being written. */
export function watch(store: Store, ledger: Ledger, embedded: boolean, time: () => number): Watch {
  const executions = new Map<string, Recorded>();
  const inbox = new Set<string>();
  const { medium } = store;
  let retention = false;

  function seeClaim(id: string): void {
    const row = store
      .read<ClaimRow>('select * from executions')
      ?.find(({ action_id }) => action_id === id);
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

  function seeExecutions(rows: readonly ExecutionRow[]): void {
    for (const { action_id: id, status } of rows) {
      if (!executions.has(id)) seeClaim(id);
      const known = executions.get(id);
      if (known === undefined || known.status === status) continue;
      // Promise 4: a status moves only from none to executing to final.
      if (known.status !== 'executing') {
        ledger.violate(4, `${id} was ${known.status}, and is ${status}`);
      }
      known.status = status;
      ledger.note(() => `${medium.writer?.name} settles ${id} as ${status}`);
      if (status === 'failed') seeFailure(id, known.leaseEndsAt);
    }
    if (rows.length < executions.size && !retention) ledger.violate(4, 'a row is gone');
  }

  /**
   * Promise 9: who learned of a confirmation within the lease never settles as failed, and nobody else does
   * who left it the time to write what it knows.
   */
  function seeFailure(id: string, leaseEndsAt: number): void {
    const learned = ledger.learned.get(id);
    if (learned?.outcome.kind !== 'confirmed' || learned.at > leaseEndsAt) return;
    const { process } = learned;
    if (!process.isAlive() && !process.leftInOrder()) return;
    const free = time() - Math.max(learned.at, process.hinderedAt());
    if (process.isAlive() && medium.writer !== process && free < WRITES_WITHIN_MS) return;
    ledger.violate(9, `${process.name} knew that ${id} was confirmed, and it is failed`);
  }

  function seeInbox(rows: readonly InboxRow[]): void {
    for (const { event_id: id, event } of rows) {
      if (inbox.has(id)) continue;
      inbox.add(id);
      const delivered: Event = JSON.parse(event);
      seeDelivery(ledger, delivered);
      // Promise 5: there, delivery and settling are one.
      const status = executions.get(id)?.status;
      if (delivered.data.origin === 'agent' && status !== 'submitted') {
        ledger.violate(5, `${id} is delivered, and its receipt is ${status}`);
      }
    }
  }

  /** Promise 10: a success has its one delivery; a 502 is no confirmed one, and has none where it says so. */
  function seeTold({ mark, answer, subscribed, at }: Told): void {
    const learned = ledger.learned.get(mark);
    const outcome = learned?.outcome;
    const delivered = ledger.deliveredFor.get(mark) ?? 0;
    const isConfirmed = outcome?.kind === 'confirmed';
    if (answer === 'unsent') {
      ledger.unsent.add(mark);
      if (delivered === 0) return;
    } else if (answer === 'accepted') {
      const isOnTheList = embedded && isConfirmed && outcome.known;
      // What is erased in the commit that delivers it is seen by nobody.
      const isErased = embedded && ledger.erased.size > 0;
      if (isConfirmed && (delivered === 1 || isOnTheList || isErased)) return;
    } else {
      // A subscription is none whose message could not be kept.
      const isUnkept = subscribed && learned !== undefined && learned.process.hinderedAt() >= at;
      if (!isConfirmed || isUnkept) return;
    }
    ledger.violate(
      10,
      `${mark} was told ${answer}; ${outcome?.kind}, delivered ${delivered} times`,
    );
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
        const rows = store.read<ExecutionRow>('select action_id, status from executions');
        // A transaction is open: what it does is looked at after its end.
        if (rows === undefined) return;
        medium.touched = false;
        seeExecutions(rows);
        if (embedded) seeInbox(store.read<InboxRow>('select event_id, event from inbox') ?? []);
      }
      confirmed.forEach(seeConfirmed);
      confirmed.clear();
      told.splice(0).forEach(seeTold);
      for (const one of asked.splice(0)) {
        const fault = retention ? undefined : faultOfAnswer(executions.values(), one);
        if (fault !== undefined) ledger.violate(11, fault);
      }
    },
    statusOf: (id) => {
      const rows = store.read<ExecutionRow>('select action_id, status from executions');
      return rows?.find(({ action_id }) => action_id === id)?.status;
    },
    isMarked: (messageId) => {
      const rows = store.read<{ message_id: string }>(
        "select message_id from outbox where status = 'sent'",
      );
      return rows?.some(({ message_id }) => message_id === messageId) ?? false;
    },
    allowRetention: () => {
      retention = true;
    },
  };
}
