/** What must hold once the faults have stopped. */
import { RECOVER_EVERY_MS } from '../src/actions/recovery.ts';
import type { KeptRows } from './kept-rows.ts';
import { type Ledger, mailboxOf } from './ledger.ts';
import type { Store } from './store.ts';

/** Promise 7: once faults stop, every key is final within a lease and one sweep, and nothing is `sending` beyond it. */
export function checkFinal(store: Store, ledger: Ledger): void {
  const left = store.read<{ action_id: string }>(
    "select action_id from executions where status = 'executing'",
  );
  for (const { action_id: id } of left ?? []) ledger.violate(7, `${id} is still executing`);
  const clock = store.medium.leaseClock();
  const sending = store.read<{ id: string }>(
    "select id from submissions where status = 'sending' and coalesce(lease_started_ms + lease_ms, 0) < ?",
    clock - RECOVER_EVERY_MS - 2_000,
  );
  for (const { id } of sending ?? []) ledger.violate(7, `${id} is still sending`);
  for (const { key, answer } of ledger.keys) {
    if (answer === undefined) ledger.violate(7, `${key} has no final answer`);
  }
}

/** Promise 9: what was kept is there, unless it was erased; what is said to be delivered has arrived. */
export function checkKept(store: Store, ledger: Ledger, rows: KeptRows): void {
  const there = store.read<{ id: string }>('select id from submissions') ?? [];
  const ids = new Set(there.map(({ id }) => id));
  for (const { id, status, origin } of rows.all()) {
    if (!ids.has(id)) ledger.violate(9, `${id} is gone`);
    const isEnded = status !== 'sending' && status !== 'waiting';
    if (!isEnded) ledger.violate(7, `${id} is ${status} in the end`);
    const learned = ledger.learned.get(id);
    const isYes = learned?.outcome.kind === 'confirmed' && learned.process.isAlive();
    if (origin === 'agent' && status === 'undelivered' && isYes) {
      ledger.violate(10, `${id} was confirmed, if late, and is undelivered`);
    }
    if (status !== 'delivered' || ledger.deliveries.has(id)) continue;
    ledger.violate(9, `${id} of ${origin} is said to be delivered, and never was`);
  }
}

type MessageRow = { message_id: string; mailbox: string; status: string };

/** Promise 8: each row of the outbox is sent at least once, unless it is refused for good. */
export function checkMails(store: Store, ledger: Ledger): void {
  const sent = new Set(ledger.mails.map(({ messageId }) => messageId));
  // Who refuses for good has been reached.
  const reached = new Set(ledger.mails.map(({ address }) => mailboxOf(address)));
  for (const mailbox of ledger.refused.values()) reached.add(mailbox);
  const erased = new Set([...ledger.erased].map(mailboxOf));
  for (const row of store.read<MessageRow>(
    'select message_id, key as mailbox, status from messages',
  ) ?? []) {
    if (row.status === 'dead' && ledger.refused.has(row.message_id)) continue;
    if (row.status !== 'sent') {
      ledger.violate(8, `the message for ${row.mailbox} is ${row.status}`);
    } else if (!sent.has(row.message_id) && !ledger.answered.has(row.mailbox)) {
      // Unless there was nothing more to say to them, after attempts in vain.
      ledger.violate(8, `${row.message_id} was never sent`);
    }
  }
  for (const { mailbox, by } of ledger.owed) {
    const isOver = erased.has(mailbox) || ledger.answered.has(mailbox);
    if (reached.has(mailbox) || isOver || by?.isAlive() === false) continue;
    ledger.violate(8, `${mailbox} was promised a message, and got none`);
  }
}
