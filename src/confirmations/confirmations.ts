/** Confirmations as they are read: the row that is asked with the state of its execution (beyond §4). */
import type { Executions } from '../actions/executions.ts';
import { isActionId, type Receipt, receiptOf } from '../actions/receipt.ts';
import { isoTime } from '../clock.ts';
import type { ConfirmationRow } from '../storage/confirmation-schema.ts';
import type { Selects, Storage } from '../storage/database.ts';
import { prepareRead } from '../storage/prepare-query.ts';
import type { ExecutionRow } from '../storage/schema.ts';

/** One confirmation, with what stands in the row of its execution. */
export type Confirmation = ConfirmationRow & { execution: ExecutionRow };

type ConfirmationStatus = 'pending' | 'submitted' | 'failed' | 'declined' | 'reported' | 'expired';

/** As an agent is told of it. */
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

export type Confirmations = {
  /** Of a client's own, by its id. */
  findOf(client: string, id: string): Promise<Confirmation | undefined>;
  /** By what the address of its page ends with. */
  findBySecret(secretDigest: string): Promise<Confirmation | undefined>;
  /** Whoever asked for it. */
  find(id: string): Promise<Confirmation | undefined>;
};

/** Its functions throw `StorageUnavailable`. */
export function openConfirmations(
  storage: Storage,
  executions: Pick<Executions, 'find' | 'findByAction'>,
): Confirmations {
  const all = (db: Selects) => db.selectFrom('confirmations').selectAll();
  const byId = prepareRead(storage, (db, of: { id: string }) => all(db).where('id', '=', of.id));
  const bySecret = prepareRead(storage, (db, of: { secret_digest: string }) =>
    all(db).where('secret_digest', '=', of.secret_digest),
  );

  /** With the state that stands: what has run out is settled first. */
  async function withExecution(
    row: ConfirmationRow | undefined,
  ): Promise<Confirmation | undefined> {
    if (row === undefined) return undefined;
    const { id, client } = row;
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
    async findOf(client, id) {
      const found = isActionId(id) ? await find(id) : undefined;
      return found?.client === client ? found : undefined;
    },
    async findBySecret(secret_digest) {
      return withExecution((await storage.read(bySecret({ secret_digest })))[0]);
    },
  };
}

/** What an agent polls for: while it executes it is still pending. */
function statusOf({ execution: { status } }: Confirmation): ConfirmationStatus {
  return status === 'asked' || status === 'executing' ? 'pending' : status;
}

/** Takes where the page is, for whoever asked; nobody else is told. */
export function recordOf(confirmation: Confirmation, url?: string): ConfirmationRecord {
  const { id, via, action, destination, created_at, expires_at } = confirmation;
  const where = url === undefined ? {} : { confirmation_url: url };
  const status = statusOf(confirmation);
  return { id, status, via, action, destination, ...where, created_at, expires_at };
}

/** Whether a code was mailed that still opens the page. */
export function isCodeOut(
  { code_expires_at: ends }: Pick<ConfirmationRow, 'code_expires_at'>,
  now: Date,
): boolean {
  return ends !== null && isoTime(now.getTime()) < ends;
}

/** Of one that was sent, or that failed. */
export function receiptIn({ execution }: Confirmation): Receipt | undefined {
  const hasOne = execution.status === 'submitted' || execution.status === 'failed';
  return hasOne ? receiptOf(execution) : undefined;
}

function isOpen({ status }: ExecutionRow): boolean {
  return status === 'asked' || status === 'executing';
}
