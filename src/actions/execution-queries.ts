/** Statements of executions. `executions.ts` explains why these statements are enough. */
import type { Expression, ExpressionBuilder, QueryCreator, RawBuilder, SqlBool } from 'kysely';
import type { Storage } from '../storage/database.ts';
import { prepareBoth, prepareChange, prepareRead, selectRow } from '../storage/queries.ts';
import type { ExecutionRow, Schema } from '../storage/schema.ts';
import { type ExecutionSubmission, executionRows } from '../submissions/execution-rows.ts';

/** The columns that a claim writes. */
export type ClaimRequest = Pick<
  ExecutionRow,
  | 'action_id'
  | 'action'
  | 'client'
  | 'idempotency_key'
  | 'preview_digest'
  | 'confirmation_text'
  | 'confirmed_via'
  | 'destination'
>;

export type Claimed = ClaimRequest & Pick<ExecutionRow, 'created_at'>;

/** The end of an execution. `line` contains its attempt in the format of `submissions.attempts`. */
type Ended = Pick<ExecutionRow, 'preview_digest' | 'action_id'> & { settled_at: string };
type Attempted = Ended & { line: string };

/**
 * Returns an insert that adds no row if the key or the preview is claimed, or the condition is false. `lease_ms` is the
 * length of the lease in milliseconds, and 0 unless the row is a claim.
 */
export function insertExecution(
  { dialect }: Pick<Storage, 'dialect'>,
  db: QueryCreator<Schema>,
  of: Claimed,
  as: Pick<ExecutionRow, 'status' | 'settled_at' | 'lease_ms' | 'sandbox'>,
  condition: (row: ExpressionBuilder<Schema, never>) => Expression<SqlBool> = (row) => row.lit(true),
) {
  const row = {
    action_id: of.action_id,
    action: of.action,
    client: of.client,
    idempotency_key: of.idempotency_key,
    preview_digest: of.preview_digest,
    created_at: of.created_at,
    confirmation_text: of.confirmation_text,
    confirmed_via: of.confirmed_via,
    destination: of.destination,
    ...as,
  };
  const names = Object.keys(row) as (keyof typeof row)[];
  return db
    .insertInto('executions')
    .columns([...names, 'lease_started_ms'])
    .expression(
      selectRow(db, row)
        .select(dialect.leaseClock.as('lease_started_ms'))
        .where((value) => condition(value)),
    )
    .onConflict((conflict) => conflict.doNothing());
}

/** Returns a condition that is false if the mailbox has reported the client (reference §6.2). */
export function isUnreported<Table extends keyof Schema>(
  row: ExpressionBuilder<Schema, Table>,
  client: string | Expression<string>,
  mailboxDigest: string | Expression<string>,
): Expression<SqlBool> {
  const reports = (row as unknown as ExpressionBuilder<Schema, never>)
    .selectFrom('confirmation_reports')
    .select('confirmation_reports.client')
    .where('confirmation_reports.client', '=', client)
    .where('confirmation_reports.mailbox_digest', '=', mailboxDigest);
  return row.not(row.exists(reports));
}

function confirmationOf(row: ExpressionBuilder<Schema, 'executions'>) {
  return row
    .selectFrom('confirmations')
    .select('confirmations.id')
    .whereRef('confirmations.id', '=', 'executions.action_id');
}

/** Returns a query for the confirmation of a row of `executions`, if the confirmation has not expired at `now`. */
export function aliveConfirmation(row: ExpressionBuilder<Schema, 'executions'>, now: string) {
  return confirmationOf(row).where('confirmations.expires_at', '>', now);
}

/** Stores the content of a sandbox client's execution, apart from all submissions. */
function insertSandboxContent(
  db: QueryCreator<Schema>,
  { action_id: id, email, event }: ExecutionSubmission & { action_id: string },
  changed: RawBuilder<boolean>,
) {
  return db
    .insertInto('sandbox_contents')
    .columns(['id', 'email', 'event'])
    .expression(selectRow(db, { id, email, event }).where(changed));
}

export type QueryOptions = {
  leaseMs: number;
  /** True if the commit that settles an execution also stores its submission in the embedded inbox. */
  embedded: boolean;
  /** True if delivered submissions keep their content. */
  keepsDelivered: boolean;
  /** True for the executions of sandbox clients, which store no submission (reference §27). */
  isSandbox?: boolean;
};

export function prepareExecutionQueries(
  storage: Storage,
  { leaseMs, embedded, keepsDelivered, isSandbox = false }: QueryOptions,
) {
  const submissions = executionRows(storage, keepsDelivered);
  const sandbox = isSandbox ? 1 : 0;
  const insertContent = isSandbox ? insertSandboxContent : submissions.claim;

  /** A claim also stores its submission, unless the embedded inbox stores the submission at delivery. */
  const withSubmission = <Of extends Claimed & ExecutionSubmission>(claim: Parameters<typeof prepareBoth<Of>>[1]) =>
    embedded ? prepareChange<Of>(storage, claim) : prepareBoth<Of>(storage, claim, insertContent);

  const settle = (status: 'submitted' | 'failed') => {
    return (db: QueryCreator<Schema>, to: Ended) =>
      db
        .updateTable('executions')
        .set({ status, settled_at: to.settled_at })
        .where('preview_digest', '=', to.preview_digest)
        .where('action_id', '=', to.action_id)
        .where('status', '=', 'executing');
  };
  const fail = settle('failed');

  return {
    /** Returns at most two rows: the row of the client's key, and the row of the preview. */
    find: prepareRead(storage, (db, of: Pick<Claimed, 'client' | 'idempotency_key' | 'preview_digest'>) =>
      db
        .selectFrom('executions')
        .selectAll()
        .select(storage.dialect.leaseExpired.as('lease_has_run_out'))
        .where((row) =>
          row.or([
            row.and([row('client', '=', of.client), row('idempotency_key', '=', of.idempotency_key)]),
            row('preview_digest', '=', of.preview_digest),
          ]),
        ),
    ),

    findByAction: prepareRead(storage, (db, of: Pick<Claimed, 'client' | 'action_id'>) =>
      db.selectFrom('executions').selectAll().where('action_id', '=', of.action_id).where('client', '=', of.client),
    ),

    /** Changes no row if the key or the preview is claimed, or the mailbox has reported the client. */
    claim: withSubmission<Claimed & ExecutionSubmission & { mailbox_digest: string }>((db, of) =>
      insertExecution(storage, db, of, { status: 'executing', settled_at: null, lease_ms: leaseMs, sandbox }, (row) =>
        isUnreported(row, of.client, of.mailbox_digest),
      ),
    ),

    /** Declines by the statement of a claim, so that either the decline or the claim succeeds. */
    decline: prepareChange<Claimed>(storage, (db, of) =>
      insertExecution(storage, db, of, {
        status: 'declined',
        settled_at: of.created_at,
        lease_ms: 0,
        sandbox,
      }),
    ),

    /** Changes no row if the confirmation is not pending, has expired, or the mailbox has reported the client. */
    confirm: withSubmission<Claimed & ExecutionSubmission>((db, of) =>
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
        .where((row) =>
          row.exists(
            aliveConfirmation(row, of.created_at).where((confirmation) =>
              isUnreported(
                confirmation,
                confirmation.ref('confirmations.client'),
                confirmation.ref('confirmations.mailbox_digest'),
              ),
            ),
          ),
        ),
    ),
    /** Stores the id of the click that claimed, so that a remembered failure of another click has no effect. */
    confirmed: prepareChange(storage, (db, of: { action_id: string; press_id: string }) =>
      db
        .updateTable('confirmations')
        .set({ press_id: of.press_id, fields: null, email: null })
        .where('id', '=', of.action_id),
    ),
    /** Settles the claim of a click that sent nothing as `failed`, if the claim was committed. */
    failConfirm: prepareBoth<Attempted & { press_id: string }>(
      storage,
      (db, of) =>
        fail(db, of).where((row) => row.exists(confirmationOf(row).where('confirmations.press_id', '=', of.press_id))),
      submissions.fail,
    ),

    /** `submit`, `fail` and `store` change no row if the execution is settled. */
    submit: prepareBoth<Attempted>(storage, settle('submitted'), submissions.submit),
    fail: prepareBoth<Attempted>(storage, fail, submissions.fail),
    store: prepareBoth<Ended & ExecutionSubmission & { client: string }>(
      storage,
      settle('submitted'),
      submissions.store,
    ),
    deliverLate: submissions.deliverLate,
    expireSubmission: submissions.expire,
  };
}
