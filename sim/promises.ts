/** The eight promises, checked after every event and at the end. */
import type { Receipt } from '../src/actions/receipt.ts';
import type { Event } from '../src/upstream/upstream.ts';
import { count, type Key, type Ledger } from './ledger.ts';
import type { Store } from './store.ts';

type ExecutionRow = { action_id: string; status: string; idempotency_key: string };
type InboxRow = { event_id: string; event: string };
type OutboxRow = { message_id: string; mailbox: string; status: string };

/** Promise 1: at most one delivery for a preview. */
export function seeDelivery(ledger: Ledger, event: Event): void {
  ledger.note(() => `the destination reads ${event.data.id}`);
  count(ledger.deliveries, event.data.id);
  if (event.data.origin !== 'agent') return;
  const marker = event.data.fields.email ?? '';
  if (count(ledger.deliveredFor, marker) > 1) {
    ledger.violate(1, `what ${marker} confirmed was delivered twice`);
  }
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
export function watch(store: Store, ledger: Ledger, embedded: boolean): Watch {
  const statuses = new Map<string, string>();
  const inbox = new Set<string>();
  let retention = false;

  function seeExecutions(rows: readonly ExecutionRow[]): void {
    for (const { action_id: id, status, idempotency_key: key } of rows) {
      const before = statuses.get(id);
      if (key.startsWith('mistake-')) ledger.violate(6, `${key} left a row`);
      if (before === status) continue;
      // Promise 4: a status moves only from none to executing to final.
      if (before !== undefined && before !== 'executing') {
        ledger.violate(4, `${id} was ${before}, and is ${status}`);
      }
      ledger.note(() => `${id} is ${status}`);
      statuses.set(id, status);
    }
    if (rows.length < statuses.size && !retention) ledger.violate(4, 'a row is gone');
  }

  function seeInbox(rows: readonly InboxRow[]): void {
    for (const { event_id: id, event } of rows) {
      if (inbox.has(id)) continue;
      inbox.add(id);
      seeDelivery(ledger, JSON.parse(event));
    }
  }

  return {
    look() {
      if (!store.medium.touched) return;
      const rows = store.read<ExecutionRow>(
        'select action_id, status, idempotency_key from executions',
      );
      // A transaction is open: what it does is looked at after its end.
      if (rows === undefined) return;
      store.medium.touched = false;
      seeExecutions(rows);
      if (embedded) seeInbox(store.read<InboxRow>('select event_id, event from inbox') ?? []);
      // Promise 3: a 200 has exactly one delivery.
      for (const id of ledger.confirmed) {
        const delivered = ledger.deliveries.get(id) ?? 0;
        // What is erased in the commit that delivers it is seen by nobody.
        if (delivered === 0 && embedded && ledger.erased.size > 0) continue;
        if (delivered !== 1)
          ledger.violate(3, `${id} was answered 200, delivered ${delivered} times`);
      }
      ledger.confirmed.clear();
    },
    statusOf: (id) => {
      const rows = store.read<ExecutionRow>('select action_id, status from executions');
      return rows?.find(({ action_id }) => action_id === id)?.status;
    },
    isMarked: (messageId) => {
      const rows = store.read<OutboxRow>("select message_id from outbox where status = 'sent'");
      return rows?.some(({ message_id }) => message_id === messageId) ?? false;
    },
    allowRetention: () => {
      retention = true;
    },
  };
}

/** Promise 7: once faults stop, every key is final within a lease and one sweep. */
export function checkFinal(store: Store, ledger: Ledger): void {
  const left = store.read<ExecutionRow>(
    "select action_id from executions where status = 'executing'",
  );
  if (left === undefined) ledger.violate(7, 'a transaction is still open');
  for (const { action_id: id } of left ?? []) ledger.violate(7, `${id} is still executing`);
  for (const { key, answer } of ledger.keys) {
    if (answer === undefined) ledger.violate(7, `${key} has no final answer`);
  }
}

/** Promise 8: each row of the outbox is sent at least once. */
export function checkMails(store: Store, ledger: Ledger): void {
  const sent = new Set(ledger.mails.map(({ messageId }) => messageId));
  for (const row of store.read<OutboxRow>('select message_id, mailbox, status from outbox') ?? []) {
    if (row.status !== 'sent') ledger.violate(8, `the message for ${row.mailbox} is ${row.status}`);
    else if (!sent.has(row.message_id)) ledger.violate(8, `${row.message_id} was never sent`);
  }
  const reached = new Set(ledger.mails.map(({ address }) => address));
  for (const address of ledger.owed) {
    if (!reached.has(address) && !ledger.erased.has(address)) {
      ledger.violate(8, `${address} was promised a message, and got none`);
    }
  }
}
