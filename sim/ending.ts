/** Checks the state of a run after its faults have stopped. */
import { RECOVER_EVERY_MS } from '../src/actions/recovery.ts';
import type { WatchedRows } from './kept-rows.ts';
import { type Ledger, type MailKind, mailboxOf } from './ledger.ts';
import type { Store } from './store.ts';

/**
 * Checks invariant 7: once faults stop, every key is final within a lease and one sweep. No row is `sending` after this
 * time.
 */
export function checkFinal(store: Store, ledger: Ledger): void {
  const executing = store.read<{ action_id: string }>("select action_id from executions where status = 'executing'");
  for (const { action_id: id } of executing ?? []) ledger.violate(7, `${id} is still executing`);
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

/** Checks that a stored submission exists unless it was erased, and has arrived if it is `delivered` (invariant 9). */
export function checkStored(store: Store, ledger: Ledger, rows: WatchedRows): void {
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

type MessageRow = { kind: MailKind; message_id: string; mailbox: string; status: string };

/** Checks invariant 8: each outbox row was sent at least once, unless the mail server refused it permanently. */
export function checkMails(store: Store, ledger: Ledger): void {
  const sent = new Set(ledger.mails.map(({ messageId }) => messageId));
  // A mailbox counts as reached if the server refused its message permanently.
  const confirmations = ledger.mails.filter(({ kind }) => kind === 'confirmation');
  const reached = new Set(confirmations.map(({ address }) => mailboxOf(address)));
  for (const mailbox of ledger.refused.values()) reached.add(mailbox);
  const erased = new Set([...ledger.erased].map(mailboxOf));
  for (const row of store.read<MessageRow>('select kind, message_id, key as mailbox, status from messages') ?? []) {
    if (row.status === 'dead' && ledger.refused.has(row.message_id)) continue;
    if (row.status !== 'sent') {
      ledger.violate(8, `the message for ${row.mailbox} is ${row.status}`);
    } else if (!sent.has(row.message_id)) {
      // Exception: after failed attempts, the message was no longer needed.
      const isObsolete = row.kind === 'confirmation' ? ledger.answered.has(row.mailbox) : ledger.erased.size > 0;
      if (!isObsolete) ledger.violate(8, `${row.message_id} was never sent`);
    }
  }
  const sql = `select kind, form from messages join submissions on submissions.id = coalesce(about, key)
    where kind in ('acknowledgement', 'contractor_notice')`;
  for (const { kind, form } of store.read<{ kind: MailKind; form: string }>(sql) ?? []) {
    const isOwed = kind === 'acknowledgement' ? form !== 'newsletter' : form === 'homeowner_quote';
    if (!isOwed) ledger.violate(8, `a ${kind} about a ${form}`);
  }
  for (const { mailbox, by } of ledger.owed) {
    const isOver = erased.has(mailbox) || ledger.answered.has(mailbox);
    if (reached.has(mailbox) || isOver || by?.isAlive() === false) continue;
    ledger.violate(8, `${mailbox} was promised a message, and got none`);
  }
}
