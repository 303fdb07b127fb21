/**
 * Stores pending confirmations (reference §6.2): executions with the status `asked` that wait for the person. A request
 * inserts the row as a claim does, so the request reserves the client's key and the preview. One conditional update of
 * an `asked` row ends the wait. So exactly one of these counts: a confirmation, a refusal, a report or the expiry.
 * `actions/executions.ts` has the update by which a person confirms.
 */
import { aliveConfirmation, type ClaimRequest, insertExecution, isUnreported } from '../actions/execution-queries.ts';
import { type Clock, isoTime } from '../platform/clock.ts';
import type { OpenTransaction, Storage } from '../storage/database.ts';
import type { ConfirmationRow } from '../storage/schema.ts';

/** Maximum number of pending confirmations of one client (reference §6.5). */
const PENDING_MAXIMUM = 200;
/** Maximum number of expired confirmations that one query returns. */
const DUE_AT_ONCE = 200;

type AskRequest = ClaimRequest &
  Pick<ConfirmationRow, 'via' | 'secret_digest' | 'mailbox_digest' | 'fields' | 'email'> & {
    lifetimeMs: number;
  };

type AskResult =
  /** `ended` is the number of earlier confirmations that the new confirmation replaces. */
  | { kind: 'asked'; ended: number }
  /** The key or the preview is claimed, or the mailbox has reported the client. */
  | { kind: 'taken' }
  | { kind: 'tooMany'; retryAfterSeconds: number };

type Reported = Pick<ConfirmationRow, 'id' | 'client' | 'mailbox_digest'>;

type Ending = 'declined' | 'reported' | 'expired';

export type PendingConfirmations = ReturnType<typeof openPending>;

/** Returns the writes of pending confirmations. The functions throw `StorageUnavailable`. */
export function openPending(parts: { storage: Storage; clock: Clock; isSandbox?: boolean }) {
  const { storage, clock } = parts;
  const sandbox = parts.isSandbox ? 1 : 0;
  const now = () => isoTime(clock.now().getTime());

  /** Locks the client, so that its requests and reports run one after another and see each other's rows. */
  async function pendingOf(tx: OpenTransaction, client: string, time: string) {
    await storage.dialect.advisoryLock(tx, `confirmations of ${client}`);
    return await tx
      .selectFrom('confirmations')
      .select(['id', 'action', 'mailbox_digest', 'expires_at'])
      .where('client', '=', client)
      .where('fields', 'is not', null)
      .where('expires_at', '>', time)
      .orderBy('created_at')
      .execute();
  }

  const end = (id: string, status: Ending, settledAt: string) =>
    storage.write((tx) => endPending(tx, id, status, settledAt));

  return {
    /** Stores a pending confirmation, and ends the client's earlier confirmation for the same action and mailbox. */
    async ask(asked: AskRequest): Promise<AskResult> {
      const { via, secret_digest, mailbox_digest, fields, email, lifetimeMs, ...request } = asked;
      storage.requireDiskSpace();
      const { client, action, destination } = request;
      const created_at = now();
      return await storage.write(async (tx): Promise<AskResult> => {
        const pending = await pendingOf(tx, client, created_at);
        const earlier = pending.filter((each) => each.action === action && each.mailbox_digest === mailbox_digest);
        const [oldest] = pending;
        if (oldest !== undefined && pending.length - earlier.length >= PENDING_MAXIMUM) {
          const ms = Date.parse(oldest.expires_at) - Date.parse(created_at);
          return { kind: 'tooMany', retryAfterSeconds: Math.max(1, Math.ceil(ms / 1000)) };
        }
        const inserted = await insertExecution(
          storage,
          tx,
          { ...request, created_at },
          { status: 'asked', settled_at: null, lease_ms: 0, sandbox },
          (row) => isUnreported(row, client, mailbox_digest),
        ).executeTakeFirst();
        if (inserted.numInsertedOrUpdatedRows === 0n) return { kind: 'taken' };
        await tx
          .insertInto('confirmations')
          .values({
            id: request.action_id,
            client,
            action,
            via,
            destination,
            secret_digest,
            mailbox_digest,
            created_at,
            expires_at: isoTime(Date.parse(created_at) + lifetimeMs),
            sandbox,
            fields,
            email,
            code_number: 0,
            wrong_codes: 0,
          })
          .execute();
        let ended = 0;
        for (const { id } of earlier) {
          if (await endPending(tx, id, 'expired', created_at)) ended += 1;
        }
        return { kind: 'asked', ended };
      });
    },

    /** Ends a pending confirmation. Returns false if the confirmation is no longer pending. */
    end: ({ id }: { id: string }, status: Ending) => end(id, status, now()),

    /**
     * Stores the person's report, and ends every pending confirmation of the client for the person's mailbox, in one
     * transaction. Returns the number of ended confirmations, or 0 if the reported confirmation is no longer pending.
     */
    async report({ id, client, mailbox_digest }: Reported): Promise<number> {
      const reported_at = now();
      return await storage.write(async (tx) => {
        const pending = await pendingOf(tx, client, reported_at);
        const ids = pending.filter((row) => row.mailbox_digest === mailbox_digest).map((row) => row.id);
        if (!ids.includes(id)) return 0;
        // Erasure locks the rows in the same order, which avoids a deadlock.
        const asked = await storage.dialect
          .forUpdate(
            tx
              .selectFrom('executions')
              .select('action_id')
              .where('action_id', 'in', ids)
              .where('status', '=', 'asked')
              .orderBy('action_id'),
          )
          .execute();
        if (!asked.some(({ action_id }) => action_id === id)) return 0;
        for (const { action_id } of asked) await endPending(tx, action_id, 'reported', reported_at);
        await tx
          .insertInto('confirmation_reports')
          .values({ client, mailbox_digest, reported_at, seen: 0, sandbox })
          .onConflict((conflict) =>
            conflict.columns(['client', 'mailbox_digest']).doUpdateSet({ reported_at, seen: 0, sandbox }),
          )
          .execute();
        return asked.length;
      });
    },

    /** Ends the expired confirmations and returns their number. */
    async expire(): Promise<number> {
      let ended = 0;
      for (;;) {
        const time = now();
        const due = await storage.read((db) =>
          db
            .selectFrom('confirmations')
            .select('id')
            .where('fields', 'is not', null)
            .where('expires_at', '<=', time)
            .where('sandbox', '=', storage.dialect.constant(sandbox))
            .orderBy('expires_at')
            .limit(storage.dialect.constant(DUE_AT_ONCE)),
        );
        // Each confirmation ends in its own transaction, so that no instance waits long for another instance.
        for (const { id } of due) if (await end(id, 'expired', time)) ended += 1;
        if (due.length < DUE_AT_ONCE) return ended;
      }
    },
  };
}

/**
 * Ends a pending confirmation and deletes its fields. Returns false if the confirmation is no longer pending. Changes
 * the execution first, as a claim does, so concurrent changes wait for one another.
 */
export async function endPending(
  tx: OpenTransaction,
  id: string,
  status: Ending,
  settled_at: string,
): Promise<boolean> {
  const asked = tx
    .updateTable('executions')
    .set({ status, settled_at })
    .where('status', '=', 'asked')
    .where('action_id', '=', id);
  // An expired confirmation can only become `expired`.
  const ending = status === 'expired' ? asked : asked.where((row) => row.exists(aliveConfirmation(row, settled_at)));
  const { numUpdatedRows } = await ending.executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  await tx.updateTable('confirmations').set({ fields: null, email: null }).where('id', '=', id).execute();
  return true;
}
