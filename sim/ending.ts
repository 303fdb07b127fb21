/** What must hold once the faults have stopped. */
import { type Ledger, mailboxOf } from './ledger.ts';
import type { Store } from './store.ts';

/** Promise 7: once faults stop, every key is final within a lease and one sweep. */
export function checkFinal(store: Store, ledger: Ledger): void {
  const left = store.read<{ action_id: string }>(
    "select action_id from executions where status = 'executing'",
  );
  if (left === undefined) ledger.violate(7, 'a transaction is still open');
  for (const { action_id: id } of left ?? []) ledger.violate(7, `${id} is still executing`);
  for (const { key, answer } of ledger.keys) {
    if (answer === undefined) ledger.violate(7, `${key} has no final answer`);
  }
}

type OutboxRow = { message_id: string; mailbox: string; status: string };

/** Promise 8: each row of the outbox is sent at least once, unless it is refused for good. */
export function checkMails(store: Store, ledger: Ledger): void {
  const sent = new Set(ledger.mails.map(({ messageId }) => messageId));
  // Who refuses for good has been reached.
  const reached = new Set(ledger.mails.map(({ address }) => mailboxOf(address)));
  for (const mailbox of ledger.refused.values()) reached.add(mailbox);
  const erased = new Set([...ledger.erased].map(mailboxOf));
  for (const row of store.read<OutboxRow>('select message_id, mailbox, status from outbox') ?? []) {
    if (row.status === 'dead' && ledger.refused.has(row.message_id)) continue;
    if (row.status !== 'sent') {
      ledger.violate(8, `the message for ${row.mailbox} is ${row.status}`);
    } else if (!sent.has(row.message_id)) ledger.violate(8, `${row.message_id} was never sent`);
  }
  for (const { mailbox, by } of ledger.owed) {
    if (reached.has(mailbox) || erased.has(mailbox) || by?.isAlive() === false) continue;
    ledger.violate(8, `${mailbox} was promised a message, and got none`);
  }
}
