/** Writes the end of an execution to its row and its submission's row, also after a fault of the store. */
import { type Clock, isoTime } from '../platform/clock.ts';
import type { Change, OpenTransaction, Storage } from '../storage/database.ts';
import { openPendingWrites } from '../storage/pending-writes.ts';
import { type Attempt, attemptLine, writeMessages, writeWithMessages } from '../submissions/attempts.ts';
import type { ExecutionSubmission } from '../submissions/execution-rows.ts';
import type { Outcome } from '../upstream/upstream.ts';
import type { Claimed, ClaimRequest, prepareExecutionQueries } from './execution-queries.ts';

/** A successful claim with its submission. The send may start while `mayStart()` returns true. */
export type Claim = Claimed & { submission: ExecutionSubmission; mayStart(): boolean };

/** The claim by a click on a confirmation page. Each click has its own id, because they share the `action_id`. */
export type ConfirmRequest = ClaimRequest & { press_id: string };

/** An outcome that this process has seen and must write. If `attempt` is undefined, nothing was sent. */
export type Known = { outcome: Outcome; attempt?: Attempt };

export type CompletionParts = {
  storage: Storage;
  /** True for the executions of sandbox clients. */
  isSandbox?: boolean;
  clock: Clock;
  queries: ReturnType<typeof prepareExecutionQueries>;
  /** Returns the messages that the commit that sets an execution to `submitted` also writes. */
  messages?: ((claim: Claim) => readonly Change[]) | undefined;
  /** Called after the commit that sets an execution to `submitted`. */
  onSubmitted?: (() => void) | undefined;
};

/** Returns the writes that end executions. The functions throw `StorageUnavailable`. */
export function openCompletion(parts: CompletionParts) {
  const { storage, clock, queries, isSandbox = false } = parts;
  const { track, hasPendingWrites, flush, idle, keys } = openPendingWrites<ClaimRequest>();
  const now = () => isoTime(clock.now().getTime());

  /** Runs the change that submits a claim, with its messages. Returns the number of changed rows. */
  async function submit(claim: Claim, change: Change): Promise<number> {
    const messages = parts.messages?.(claim) ?? [];
    // If the person was erased meanwhile, the submission is gone, and nobody gets a message about it.
    const add = async (tx: OpenTransaction) => {
      const row = tx.selectFrom('submissions').select('id').where('id', '=', claim.action_id);
      if ((await row.executeTakeFirst()) !== undefined) await writeMessages(tx, messages);
    };
    const submitted = await writeWithMessages(storage, change, messages.length === 0 ? [] : [add]);
    if (submitted > 0) parts.onSubmitted?.();
    return submitted;
  }

  /** Writes the outcome. Returns false if the execution was already settled. */
  async function complete(claimed: ClaimRequest, { outcome, attempt }: Known): Promise<boolean> {
    const { action_id, preview_digest } = claimed;
    const line = attempt === undefined ? '' : attemptLine(attempt);
    const to = { preview_digest, action_id, settled_at: now(), line };
    if (outcome.kind !== 'confirmed' || !isClaim(claimed)) {
      // It is unknown whether a click without a claim was committed, and another click may have the claim.
      const isLostClick = isPress(claimed) && !isClaim(claimed);
      const fail = isLostClick ? queries.failConfirm({ ...to, press_id: claimed.press_id }) : queries.fail(to);
      return (await storage.write(fail)) > 0;
    }
    if ((await submit(claimed, queries.submit(to))) > 0) return true;
    // A confirmation after the lease is recorded, and the receipt never changes (reference §10.7).
    await storage.write(queries.deliverLate({ action_id, line }));
    return false;
  }

  /** Settles expired claims as `failed`, except the claims whose outcome this process remembers and will write. */
  function failExpired(tx: OpenTransaction, settled_at: string) {
    const known = keys().map(({ action_id }) => action_id);
    return tx
      .updateTable('executions')
      .set({ status: 'failed', settled_at })
      .$if(known.length > 0, (query) => query.where('action_id', 'not in', known))
      .where('status', '=', storage.dialect.constant('executing'))
      .where('sandbox', '=', storage.dialect.constant(isSandbox ? 1 : 0))
      .where(storage.dialect.leaseExpired)
      .returning(['action_id', 'created_at', 'lease_ms'])
      .execute();
  }

  return {
    complete,
    submit,
    hasPendingWrites,
    flush,

    /** Runs a statement about one execution. If the store fails, `known` is written later. */
    trackUntilWritten: <T>(claimed: ClaimRequest, known: Known, run: () => Promise<T>) =>
      track(claimed, run, () => complete(claimed, known)),

    /** Settles expired executions, whose process died or was stopped, as `failed`. Returns their number. */
    async settleExpired(): Promise<number> {
      // Outcomes that this process remembers are written first.
      await idle();
      await flush();
      const settled_at = now();
      return await storage.write(async (tx) => {
        const rows = await failExpired(tx, settled_at);
        for (const { action_id, created_at: at, lease_ms: ms } of rows) {
          const line = attemptLine({ at, ms, outcome: 'unknown', by: 'first', http_status: null });
          await tx.change(queries.expireSubmission({ action_id, line }));
        }
        return rows.length;
      });
    },
  };
}

/** Only a successful claim has a submission. */
function isClaim(claimed: ClaimRequest): claimed is Claim {
  return 'submission' in claimed;
}

function isPress(claimed: ClaimRequest): claimed is ConfirmRequest {
  return 'press_id' in claimed;
}
