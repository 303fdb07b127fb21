/** The statements that a subscription and its two links run; why they are enough is told in `subscribers.ts`. */
import type { QueryCreator } from 'kysely';
import type { Storage } from '../storage/database.ts';
import { prepareChange, prepareRead } from '../storage/prepare-query.ts';
import type { Schema } from '../storage/schema.ts';
import type { SubscriberRow } from '../storage/subscriber-schema.ts';

/** A subscription: what a new row begins with. */
type Subscribed = Pick<
  SubscriberRow,
  | 'id'
  | 'email'
  | 'contractor'
  | 'made_by'
  | 'confirm_token'
  | 'leave_token'
  | 'consent_recorded_at'
> & { now: string; expires_at: string };

/** By one of its links, at a moment of the wall clock. */
type Pressed = { token: string; now: string; at: string };

/** Takes the store; each change says how many rows it has changed: one, or none. */
export function prepareSubscriberQueries(storage: Storage) {
  const bySecret = (column: 'confirm_token' | 'leave_token') =>
    prepareRead(storage, (db, of: { token: string }) =>
      db.selectFrom('subscribers').selectAll().where(column, '=', of.token),
    );

  return {
    /**
     * Inserted, or found and renewed. Who has left is asked anew; what has run out begins anew, with other links; who
     * has confirmed stays as they are.
     */
    subscribe: prepareChange(storage, (db, of: Subscribed) =>
      db
        .insertInto('subscribers')
        .values({
          id: of.id,
          email: of.email,
          contractor: of.contractor,
          status: 'pending',
          made_by: of.made_by,
          confirm_token: of.confirm_token,
          leave_token: of.leave_token,
          created_at: of.now,
          consent_recorded_at: of.consent_recorded_at,
          expires_at: of.expires_at,
          confirmed_at: null,
          unsubscribed_at: null,
        })
        .onConflict((conflict) =>
          conflict.column('email').doUpdateSet((row) => {
            const whereRunOut = <C extends keyof SubscriberRow>(column: C) =>
              row
                .case()
                .when('subscribers.expires_at', '<=', of.now)
                .then(row.ref(`excluded.${column}`))
                .else(row.ref(`subscribers.${column}`))
                .end();
            const unlessConfirmed = <C extends keyof SubscriberRow>(column: C) =>
              row
                .case()
                .when('subscribers.status', '=', 'confirmed')
                .then(row.ref(`subscribers.${column}`))
                .else(row.ref(`excluded.${column}`))
                .end();
            return {
              made_by: whereRunOut('made_by'),
              confirm_token: whereRunOut('confirm_token'),
              leave_token: whereRunOut('leave_token'),
              created_at: whereRunOut('created_at'),
              contractor: unlessConfirmed('contractor'),
              status: unlessConfirmed('status'),
              consent_recorded_at: unlessConfirmed('consent_recorded_at'),
              expires_at: unlessConfirmed('expires_at'),
              confirmed_at: unlessConfirmed('confirmed_at'),
              unsubscribed_at: unlessConfirmed('unsubscribed_at'),
            };
          }),
        ),
    ),

    byEmail: prepareRead(storage, (db, of: { email: string }) =>
      db.selectFrom('subscribers').selectAll().where('email', '=', of.email),
    ),
    byConfirmToken: bySecret('confirm_token'),
    byLeaveToken: bySecret('leave_token'),

    /** Once, however often it is pressed, and only while the link lives. */
    confirm: prepareChange(storage, (db, of: Pressed) =>
      db
        .updateTable('subscribers')
        .set({ status: 'confirmed', confirmed_at: of.at, expires_at: null })
        .where('confirm_token', '=', of.token)
        .where('status', '=', 'pending')
        .where('expires_at', '>', of.now),
    ),

    /** The same of who leaves: what has run out says nothing more. */
    leave: prepareChange(storage, (db, of: Pressed) =>
      db
        .updateTable('subscribers')
        .set({ status: 'unsubscribed', unsubscribed_at: of.at, expires_at: null })
        .where('leave_token', '=', of.token)
        .where('status', '<>', 'unsubscribed')
        .where((row) => row.or([row('expires_at', 'is', null), row('expires_at', '>', of.now)])),
    ),
  };
}

/** Builds what finds a row by its address, in a transaction. */
export const subscriberByEmail = (db: Pick<QueryCreator<Schema>, 'selectFrom'>, email: string) =>
  db.selectFrom('subscribers').selectAll().where('email', '=', email);

/** Builds what finds a row by its id, in a transaction. */
export const subscriberById = (db: Pick<QueryCreator<Schema>, 'selectFrom'>, id: string) =>
  db.selectFrom('subscribers').selectAll().where('id', '=', id);

/** More than are kept within one millisecond of the database's clock. */
const LAST_EVENTS = 10;

/** Builds what reads what was kept of a subscriber last, in a transaction. */
export const lastEventsOf = (db: Pick<QueryCreator<Schema>, 'selectFrom'>, id: string) =>
  db
    .selectFrom('submissions')
    .select('event')
    .where('subscriber_id', '=', id)
    .orderBy('received_ms', 'desc')
    .limit(LAST_EVENTS);
