/**
 * The daily cap: a mailbox gets at most one confirmation message in 24 hours, so that nobody can be flooded or
 * probed (contract §4, "`/api/subscribe`"). It is this kind's alone (beyond §2). The row of a mailbox is its cap: asking again changes the row only
 * once that time is over.
 */
import type { Storage } from '../storage/database.ts';
import { prepareChange } from '../storage/prepare-query.ts';
import { PRIORITY } from './messages.ts';

/** The time of the cap, in milliseconds. */
export const CAP_MS = 24 * 60 * 60 * 1000;

/** The address without its plus-tag: the cap counts mailboxes (contract §4, "E-mail addresses"). */
export function mailboxOf(address: string): string {
  const at = address.lastIndexOf('@');
  return `${address.slice(0, at).replace(/\+.*/s, '')}${address.slice(at)}`;
}

type Asked = {
  mailbox: string;
  address: string;
  message_id: string;
  now: string;
  minute_ago: string;
  capped_until: string;
};

/** One upsert: it keeps a message for the mailbox, and changes nothing where the cap holds. */
export function prepareCappedAdd(storage: Storage) {
  return prepareChange(storage, (db, of: Asked) =>
    db
      .insertInto('messages')
      .values({
        kind: 'confirmation',
        key: of.mailbox,
        address: of.address,
        about: null,
        priority: PRIORITY.confirmation,
        message_id: of.message_id,
        status: 'pending',
        requested_at: of.now,
        attempts: 0,
        next_attempt_at: of.now,
        last_attempt_at: null,
        attempt_started_ms: null,
      })
      .onConflict((conflict) =>
        conflict
          .columns(['kind', 'key'])
          // Not `last_attempt_at`, by which the budget counts.
          .doUpdateSet((row) => ({
            address: row.ref('excluded.address'),
            message_id: row.ref('excluded.message_id'),
            status: row.ref('excluded.status'),
            requested_at: row.ref('excluded.requested_at'),
            attempts: row.ref('excluded.attempts'),
            next_attempt_at: row.ref('excluded.next_attempt_at'),
          }))
          .where('messages.requested_at', '<=', of.capped_until)
          // A retry may have arrived long after the request; of a dead one nothing arrived.
          .where((row) =>
            row.or([
              row('messages.last_attempt_at', 'is', null),
              row('messages.last_attempt_at', '<=', of.capped_until),
              row.and([
                row('messages.status', '=', 'dead'),
                row('messages.last_attempt_at', '<=', of.minute_ago),
              ]),
            ]),
          ),
      ),
  );
}
