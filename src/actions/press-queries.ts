/**
 * The statements of a confirmation's life (beyond §4): asked by the claim's own, pressed and ended by one
 * conditional update each, so that of a press, a no, a report and the end of its time one counts.
 */
import type { ExpressionBuilder, QueryCreator, RawBuilder } from 'kysely';
import type { ConfirmationRow } from '../storage/confirmation-schema.ts';
import type { Storage } from '../storage/database.ts';
import { prepareBoth, prepareChange, prepareRead, selectRow } from '../storage/prepare-query.ts';
import type { ExecutionRow, Schema } from '../storage/schema.ts';
import type { ExecutionSubmission, executionRows } from '../submissions/execution-rows.ts';

/** `line`: the attempt, as the submission lists it. */
export type Settled = Pick<ExecutionRow, 'preview_digest' | 'action_id'> & {
  settled_at: string;
  line: string;
};

/** What is kept with the row of the execution while it is asked. */
export type AskedRow = Pick<
  ConfirmationRow,
  'via' | 'destination' | 'secret_digest' | 'mailbox_digest' | 'expires_at' | 'fields' | 'email'
>;

/** `now` is the wall clock's: a confirmation lives by it. */
type Pressed = Pick<
  ExecutionRow,
  'action_id' | 'preview_digest' | 'created_at' | 'confirmation_text'
> & { now: string };

/** Beside the row of the execution, where that was inserted. */
export function insertAsked(
  db: QueryCreator<Schema>,
  of: AskedRow & Pick<ExecutionRow, 'action_id' | 'client' | 'action' | 'created_at'>,
  inserted: RawBuilder<boolean>,
) {
  const row = {
    id: of.action_id,
    client: of.client,
    action: of.action,
    via: of.via,
    destination: of.destination,
    secret_digest: of.secret_digest,
    mailbox_digest: of.mailbox_digest,
    created_at: of.created_at,
    expires_at: of.expires_at,
    fields: of.fields,
    email: of.email,
    code_number: 0,
    wrong_codes: 0,
  };
  return db
    .insertInto('confirmations')
    .columns(Object.keys(row) as (keyof typeof row)[])
    .expression(selectRow(db, row).where(inserted));
}

/** Takes how long a lease lasts, in milliseconds, and the statements of an execution's submission. */
export function pressQueries(
  storage: Storage,
  leaseMs: number,
  submissions: ReturnType<typeof executionRows>,
) {
  const press = (db: QueryCreator<Schema>, of: Pressed) =>
    db
      .updateTable('executions')
      .set({
        status: 'executing',
        created_at: of.created_at,
        confirmation_text: of.confirmation_text,
        lease_started_ms: storage.dialect.leaseClock,
        lease_ms: leaseMs,
      })
      .where('preview_digest', '=', of.preview_digest)
      .where('action_id', '=', of.action_id)
      .where('status', '=', 'asked')
      .where((row) => isAlive(row, of.now));

  return {
    /** Changes no row where it is not asked any more, or its time has ended. With it its submission is kept. */
    press: prepareBoth<Pressed & ExecutionSubmission>(storage, press, submissions.claim),
    pressAlone: prepareChange<Pressed>(storage, press),
    /** Which press it was: what is known of another one ends nothing. */
    pressed: prepareChange(storage, (db, of: { id: string; press_id: string }) =>
      db
        .updateTable('confirmations')
        .set({ press_id: of.press_id, fields: null, email: null })
        .where('id', '=', of.id),
    ),
    /** A press whose commit nobody knows of, and that sent nothing. */
    failPress: prepareBoth<Settled & { press_id: string }>(
      storage,
      (db, of) =>
        db
          .updateTable('executions')
          .set({ status: 'failed', settled_at: of.settled_at })
          .where('preview_digest', '=', of.preview_digest)
          .where('action_id', '=', of.action_id)
          .where('status', '=', 'executing')
          .where((row) =>
            row.exists(
              row
                .selectFrom('confirmations')
                .select('confirmations.id')
                .whereRef('confirmations.id', '=', 'executions.action_id')
                .where('confirmations.press_id', '=', of.press_id),
            ),
          ),
      submissions.fail,
    ),
  };
}

/** The statements that end what nobody pressed. */
export function prepareEndings(storage: Storage) {
  const end = (db: QueryCreator<Schema>, of: { settled_at: string }, status: Ending) =>
    db
      .updateTable('executions')
      .set({ status, settled_at: of.settled_at })
      .where('status', '=', 'asked');
  const endOne = (status: Ending) =>
    prepareChange(storage, (db, of: { id: string; settled_at: string }) => {
      const ended = end(db, of, status).where('action_id', '=', of.id);
      // Once its time has ended it is expired, whatever is pressed.
      return status === 'expired' ? ended : ended.where((row) => isAlive(row, of.settled_at));
    });
  return {
    declined: endOne('declined'),
    reported: endOne('reported'),
    expired: endOne('expired'),

    /** Those whose time has ended, as a rule none. */
    due: prepareRead(storage, (db, of: { now: string }) =>
      db
        .selectFrom('confirmations')
        .select('id')
        .where('fields', 'is not', null)
        .where('expires_at', '<=', of.now)
        .orderBy('expires_at')
        .limit(DUE_AT_ONCE),
    ),

    /** The fields are kept until it ends (beyond §4). */
    forget: prepareChange(storage, (db, of: { id: string }) =>
      db
        .updateTable('confirmations')
        .set({ fields: null, email: null })
        .where('id', '=', of.id)
        .where('fields', 'is not', null),
    ),
  };
}

export type Ending = 'declined' | 'reported' | 'expired';

/** One commit's worth. */
export const DUE_AT_ONCE = 200;

function isAlive(row: ExpressionBuilder<Schema, 'executions'>, now: string) {
  return row.exists(
    row
      .selectFrom('confirmations')
      .select('confirmations.id')
      .whereRef('confirmations.id', '=', 'executions.action_id')
      .where('confirmations.expires_at', '>', now),
  );
}
