/**
 * The statements of a subscription and its two links. `subscribers.ts` explains why these statements are sufficient.
 */
import type { QueryCreator } from 'kysely';
import type { OpenTransaction, ReadOnly, Storage } from '../storage/database.ts';
import { prepareChange, prepareRead } from '../storage/queries.ts';
import type { Schema, SubscriberRow } from '../storage/schema.ts';
import type { Event } from '../upstream/upstream.ts';

/** Columns that a new row sets. */
type NewSubscriber = Pick<
  SubscriberRow,
  'id' | 'email' | 'contractor' | 'made_by' | 'confirm_token' | 'leave_token' | 'consent_recorded_at'
> & { now: string; expires_at: string };

/** Change by the token of a link. `at` is the time of its event. */
type LinkChange = { token: string; now: string; at: string };

/** Prepares the statements. Each change affects one row or none. */
export function prepareSubscriberQueries(storage: Storage) {
  const bySecret = (column: 'confirm_token' | 'leave_token') =>
    prepareRead(storage, (db, of: { token: string }) =>
      db.selectFrom('subscribers').selectAll().where(column, '=', of.token),
    );

  return {
    /**
     * Inserts or renews a row. An unsubscribed row becomes pending again. An expired row gets new links as well. A
     * confirmed row does not change.
     */
    subscribe: prepareChange(storage, (db, { now, ...row }: NewSubscriber) =>
      db
        .insertInto('subscribers')
        .values({ ...row, status: 'pending', created_at: now, confirmed_at: null, unsubscribed_at: null })
        .onConflict((conflict) =>
          conflict.column('email').doUpdateSet((old) => {
            const ifExpired = <C extends keyof SubscriberRow>(column: C) =>
              old
                .case()
                .when('subscribers.expires_at', '<=', now)
                .then(old.ref(`excluded.${column}`))
                .else(old.ref(`subscribers.${column}`))
                .end();
            const unlessConfirmed = <C extends keyof SubscriberRow>(column: C) =>
              old
                .case()
                .when('subscribers.status', '=', 'confirmed')
                .then(old.ref(`subscribers.${column}`))
                .else(old.ref(`excluded.${column}`))
                .end();
            return {
              made_by: ifExpired('made_by'),
              confirm_token: ifExpired('confirm_token'),
              leave_token: ifExpired('leave_token'),
              created_at: ifExpired('created_at'),
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

    /** Confirms a subscription. Has an effect once, and only before the link expires. */
    confirm: prepareChange(storage, (db, of: LinkChange) =>
      db
        .updateTable('subscribers')
        .set({ status: 'confirmed', confirmed_at: of.at, expires_at: null })
        .where('confirm_token', '=', of.token)
        .where('status', '=', 'pending')
        .where('expires_at', '>', of.now),
    ),

    /** Ends a subscription. Has an effect once, and none on an expired pending row. */
    unsubscribe: prepareChange(storage, (db, of: LinkChange) =>
      db
        .updateTable('subscribers')
        .set({ status: 'unsubscribed', unsubscribed_at: of.at, expires_at: null })
        .where('leave_token', '=', of.token)
        .where('status', '<>', 'unsubscribed')
        .where((row) => row.or([row('expires_at', 'is', null), row('expires_at', '>', of.now)])),
    ),
  };
}

export const subscriberByEmail = (db: Pick<QueryCreator<Schema>, 'selectFrom'>, email: string) =>
  db.selectFrom('subscribers').selectAll().where('email', '=', email);

export const subscriberById = (db: Pick<QueryCreator<Schema>, 'selectFrom'>, id: string) =>
  db.selectFrom('subscribers').selectAll().where('id', '=', id);

/** Builds the query for a subscriber's last ten events by time of receipt. No more have the same millisecond. */
export const lastEventsOf = (db: Pick<QueryCreator<Schema>, 'selectFrom'>, id: string) =>
  db.selectFrom('submissions').select('event').where('subscriber_id', '=', id).orderBy('received_ms', 'desc').limit(10);

type Dated = Pick<SubscriberRow, 'id' | 'consent_recorded_at' | 'confirmed_at' | 'unsubscribed_at'>;

/**
 * Returns the time of a subscriber's next event (reference §9.3): `now`, or later than every event of any process so
 * far. Events may arrive in any order, so a receiver compares their timestamps. The transaction has locked the row.
 */
export async function nextEventTime(tx: OpenTransaction, row: Dated, now: string): Promise<string> {
  const events = await lastEventsOf(tx, row.id).execute();
  const times = events.map(({ event }) => (JSON.parse(event) as Event).timestamp);
  const { consent_recorded_at, confirmed_at, unsubscribed_at } = row;
  const last = [consent_recorded_at, confirmed_at ?? '', unsubscribed_at ?? '', ...times].sort().at(-1);
  if (last === undefined || last < now) return now;
  return new Date(Date.parse(last) + 1).toISOString();
}

/** Returns 1 if there is a row with this normalized address, otherwise 0. */
export async function countSubscribersOf(storage: ReadOnly, email: string): Promise<number> {
  const rows = await storage.read((db) => db.selectFrom('subscribers').select('id').where('email', '=', email));
  return rows.length;
}

/**
 * Deletes the row with this normalized address and returns the number of deleted rows. The subscriber's events are not
 * deleted, because they are submissions with the same address.
 */
export async function eraseSubscriberOf(tx: OpenTransaction, email: string): Promise<number> {
  const rows = await tx.deleteFrom('subscribers').where('email', '=', email).returning('id').execute();
  return rows.length;
}
