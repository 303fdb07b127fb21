/** Reads confirmations: each row with its execution (reference §6.6). */
import { type Executions, type Receipt, receiptOf } from '../actions/executions.ts';
import { isoTime } from '../platform/clock.ts';
import { isId } from '../platform/random.ts';
import type { Selects, Storage } from '../storage/database.ts';
import { prepareRead } from '../storage/queries.ts';
import type { ConfirmationRow, ExecutionRow } from '../storage/schema.ts';

/** A confirmation with the row of its execution. */
export type Confirmation = ConfirmationRow & { execution: ExecutionRow };

type ConfirmationStatus = 'pending' | 'submitted' | 'failed' | 'declined' | 'reported' | 'expired';

/** A confirmation in an answer to an agent. */
export type ConfirmationRecord = {
  id: string;
  status: ConfirmationStatus;
  via: ConfirmationRow['via'];
  action: string;
  destination: string;
  confirmation_url?: string;
  created_at: string;
  expires_at: string;
};

export type Confirmations = ReturnType<typeof openConfirmations>;

/** Returns the stored confirmations. The functions throw `StorageUnavailable`. */
export function openConfirmations(
  storage: Storage,
  real: Pick<Executions, 'find' | 'findByAction'>,
  sandbox: Pick<Executions, 'find' | 'findByAction'> = real,
) {
  const all = (db: Selects) => db.selectFrom('confirmations').selectAll();
  const byId = prepareRead(storage, (db, of: { id: string }) => all(db).where('id', '=', of.id));
  const bySecret = prepareRead(storage, (db, of: { secret_digest: string }) =>
    all(db).where('secret_digest', '=', of.secret_digest),
  );

  /** Adds the execution to the row. Settles an expired lease or confirmation first. */
  async function withExecution(row: ConfirmationRow | undefined): Promise<Confirmation | undefined> {
    if (row === undefined) return undefined;
    const { id, client } = row;
    const executions = row.sandbox === 1 ? sandbox : real;
    const seen = await executions.findByAction(client, id);
    if (seen === undefined) return undefined;
    if (!isOpen(seen)) return { ...row, execution: seen };
    const { idempotency_key: key, preview_digest: digest } = seen;
    const { byKey = seen } = await executions.find(client, key, digest);
    return { ...row, execution: byKey };
  }

  const find = async (id: string) => withExecution((await storage.read(byId({ id })))[0]);
  return {
    find,
    /** Returns the confirmation if the client requested it. */
    async findOf(client: string, id: string) {
      const found = isId(id) ? await find(id) : undefined;
      return found?.client === client ? found : undefined;
    },
    /** Returns the confirmation whose page has this secret in its address. */
    async findBySecret(secret_digest: string) {
      return withExecution((await storage.read(bySecret({ secret_digest })))[0]);
    },
  };
}

/** Returns the status that an agent sees. A confirmation that executes is still pending for the agent. */
function statusOf({ execution: { status } }: Confirmation): ConfirmationStatus {
  return status === 'asked' || status === 'executing' ? 'pending' : status;
}

/** Returns the record of a confirmation. Only the client that requested it gets the address of the page. */
export function recordOf(confirmation: Confirmation, url?: string): ConfirmationRecord {
  const { id, via, action, destination, created_at, expires_at } = confirmation;
  const where = url === undefined ? {} : { confirmation_url: url };
  const status = statusOf(confirmation);
  return { id, status, via, action, destination, ...where, created_at, expires_at };
}

/** Returns true if a mailed code is still valid. */
export function isCodeOut({ code_expires_at: ends }: Pick<ConfirmationRow, 'code_expires_at'>, now: Date): boolean {
  return ends !== null && isoTime(now.getTime()) < ends;
}

/** Returns the receipt of a settled execution, or undefined before its end. */
export function receiptIn({ execution }: Confirmation): Receipt | undefined {
  const hasOne = execution.status === 'submitted' || execution.status === 'failed';
  return hasOne ? receiptOf(execution) : undefined;
}

function isOpen({ status }: ExecutionRow): boolean {
  return status === 'asked' || status === 'executing';
}

/** A confirmation in the operator's list, without fields. */
export type AskedQuestion = Pick<
  ConfirmationRow,
  'id' | 'client' | 'action' | 'via' | 'destination' | 'created_at' | 'expires_at'
> & {
  /** Status of the execution. Null if the execution was deleted. */
  status: ExecutionRow['status'] | null;
  settled_at: string | null;
};

/** A position in the list, whose order is `created_at`, then `id`. */
export type QuestionPlace = Pick<ConfirmationRow, 'created_at' | 'id'>;

/**
 * Returns up to `limit` confirmations, the latest first.
 * @throws StorageUnavailable
 */
export function latestQuestions(storage: Storage, limit: number, before?: QuestionPlace): Promise<AskedQuestion[]> {
  return storage.read((db) => {
    let latest = db
      .selectFrom('confirmations')
      .select(['id', 'client', 'action', 'via', 'destination', 'created_at', 'expires_at'])
      .where('sandbox', '=', 0)
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(storage.dialect.constant(limit));
    if (before !== undefined) {
      latest = latest.where((row) =>
        row(row.refTuple('created_at', 'id'), '<', row.tuple(before.created_at, before.id)),
      );
    }
    return db
      .selectFrom(latest.as('asked'))
      .leftJoin('executions', 'executions.action_id', 'asked.id')
      .selectAll('asked')
      .select(['executions.status', 'executions.settled_at'])
      .orderBy('asked.created_at', 'desc')
      .orderBy('asked.id', 'desc');
  });
}
