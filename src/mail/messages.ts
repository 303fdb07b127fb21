/** The kinds of message, and the changes that queue a message (reference §11.1). Times are ISO 8601 text. */
import type { Storage } from '../storage/database.ts';
import type { MessageKind, MessageRow } from '../storage/operation-schema.ts';
import { prepareChange } from '../storage/queries.ts';
import type { MailContent } from './mail.ts';

/**
 * Lower numbers are sent first: codes and sign-in links, for which a person waits on a page, then newsletter messages,
 * then notices and alerts, then acknowledgements, for which nobody waits.
 */
const PRIORITY: Readonly<Record<MessageKind, MessageRow['priority']>> = {
  code: 0,
  sign_in: 0,
  confirmation: 1,
  notice: 2,
  contractor_notice: 2,
  notice_summary: 2,
  alert: 2,
  acknowledgement: 3,
};

export const PRIORITIES = [0, 1, 2, 3] as const;

/**
 * Renders a message right before it is sent. Returns undefined if it is obsolete. In that case the outbox deletes the
 * message's row.
 */
export type Render = (row: MessageRow) => Promise<(MailContent & { address: string }) | undefined>;

type NewMessage = Pick<MessageRow, 'kind' | 'key' | 'about' | 'message_id'> & {
  status: 'new' | 'pending';
  now: string;
};

type Optional = Pick<MessageRow, 'address' | 'sealed_secret'>;

type Values = NewMessage & Optional & Pick<MessageRow, 'priority'>;

function newRow({ now, ...message }: Values) {
  return {
    ...message,
    requested_at: now,
    attempts: 0,
    next_attempt_at: now,
    last_attempt_at: null,
    attempt_started_ms: null,
    reply: null,
  };
}

/**
 * Prepares the change that queues a message, by default without an address and a secret. The change has no effect if the
 * kind and key exist.
 */
export function prepareMessage(storage: Storage) {
  const add = prepareChange(storage, (db, of: Values) =>
    db
      .insertInto('messages')
      .values(newRow(of))
      .onConflict((conflict) => conflict.doNothing()),
  );
  return ({ address = null, sealed_secret = null, ...message }: NewMessage & Partial<Optional>) =>
    add({ ...message, address, sealed_secret, priority: PRIORITY[message.kind] });
}

/**
 * Time between two messages of a kind to a mailbox, in milliseconds, so that nobody can be flooded or probed (reference
 * §9.4). The row of the mailbox is the limit: a new request changes it only after this time.
 */
export const CAP_MS = 24 * 60 * 60 * 1000;

/** Returns the address without its plus-tag, because the limit counts mailboxes (reference §2.7). */
export function mailboxOf(address: string): string {
  const at = address.lastIndexOf('@');
  return `${address.slice(0, at).replace(/\+.*/s, '')}${address.slice(at)}`;
}

/** Kinds of message that a mailbox gets at most once in `CAP_MS`. Their key is the mailbox. */
export type CappedKind = 'confirmation' | 'acknowledgement';

type Capped = Pick<MessageRow, 'about'> & {
  kind: CappedKind;
  mailbox: string;
  address: string;
  message_id: string;
  now: string;
  minute_ago: string;
  capped_until: string;
};

/**
 * Prepares the upsert that queues a message to a mailbox. The upsert has no effect within `CAP_MS` after the mailbox's
 * previous message of the kind.
 */
export function prepareCappedMessage(storage: Storage) {
  const add = prepareChange(storage, (db, of: Capped & Pick<MessageRow, 'priority'>) => {
    const { mailbox: key, kind, address, about, priority, message_id, now } = of;
    return db
      .insertInto('messages')
      .values(newRow({ kind, key, address, about, priority, message_id, sealed_secret: null, status: 'pending', now }))
      .onConflict((conflict) =>
        conflict
          .columns(['kind', 'key'])
          // The limit per minute still needs `last_attempt_at`.
          .doUpdateSet((row) => ({
            address: row.ref('excluded.address'),
            about: row.ref('excluded.about'),
            message_id: row.ref('excluded.message_id'),
            status: row.ref('excluded.status'),
            requested_at: row.ref('excluded.requested_at'),
            attempts: row.ref('excluded.attempts'),
            next_attempt_at: row.ref('excluded.next_attempt_at'),
            reply: row.ref('excluded.reply'),
          }))
          .where('messages.requested_at', '<=', of.capped_until)
          // A retry may have arrived long after the request. A `dead` message did not arrive.
          .where((row) =>
            row.or([
              row('messages.last_attempt_at', 'is', null),
              row('messages.last_attempt_at', '<=', of.capped_until),
              row.and([row('messages.status', '=', 'dead'), row('messages.last_attempt_at', '<=', of.minute_ago)]),
            ]),
          ),
      );
  });
  return (of: Capped) => add({ ...of, priority: PRIORITY[of.kind] });
}
