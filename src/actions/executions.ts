/**
 * Stores executions: claims, leases and receipts. A preview is delivered at most once (reference §5.10).
 *
 * 1. Claim. `(client, idempotency_key)` and `preview_digest` are unique, so when executions race, one insert wins. The
 *    claim commits in one transaction with its submission, before anything is sent. A row is deleted only when its
 *    preview can no longer be executed.
 * 2. Fence. A lease lasts the upstream time-out plus `LEASE_MARGIN_MS`. A send starts only while more than the upstream
 *    time-out remains (monotonic clock, from before the claim). So a paused process sends nothing once its receipt is
 *    final.
 * 3. Settling. The update names `action_id` and requires `executing`, so a row is settled once. A process that finds an
 *    expired lease settles the row as `failed`. The submission ends in the same transaction. A later confirmation marks
 *    the submission as delivered, and the receipt stays `failed`.
 * 4. Unknown commits. If the store fails during a claim or a settle, the commit may have happened. The process
 *    remembers the outcome (`failed` if nothing was sent) in `storage/pending-writes.ts`, and writes it before its next
 *    claim.
 * 5. Confirmations. An `asked` row reserves key and preview (reference §6.2). One conditional update claims the row.
 * 6. Clocks. The database's clock decides when a lease expires. A wall clock cannot move it.
 */
import { isoTime } from '../platform/clock.ts';
import type { ExecutionRow } from '../storage/schema.ts';
import type { Attempted } from '../submissions/attempts.ts';
import type { ExecutionSubmission } from '../submissions/execution-rows.ts';
import { LEASE_MARGIN_MS } from '../submissions/lead-store.ts';
import type { Outcome } from '../upstream/upstream.ts';
import {
  type Claim,
  type CompletionParts,
  type ConfirmRequest,
  type Known,
  openCompletion,
} from './complete-execution.ts';
import { type Claimed, type ClaimRequest, prepareExecutionQueries, type QueryOptions } from './execution-queries.ts';

/** The receipt of an execution (reference §5.9). */
export type Receipt = {
  action_id: string;
  action: string;
  status: 'submitted' | 'failed';
  created_at: string;
  consent_recorded_at: string;
  confirmation_text: string;
  result: { ok: boolean };
};

/** The columns that a receipt needs. */
export type Recorded = Pick<
  ExecutionRow,
  'action_id' | 'action' | 'client' | 'status' | 'created_at' | 'confirmation_text'
>;

/** Returns the receipt of a settled execution. A receipt never changes. */
export function receiptOf({ action_id, action, status, created_at, confirmation_text }: Recorded): Receipt {
  const ok = status === 'submitted';
  return {
    action_id,
    action,
    status: ok ? 'submitted' : 'failed',
    created_at,
    // The statement of the claim also records the consent.
    consent_recorded_at: created_at,
    confirmation_text,
    result: { ok },
  };
}

export type ExecutionsOptions = Omit<CompletionParts, 'queries'> &
  Omit<QueryOptions, 'leaseMs'> & {
    upstreamTimeoutMs: number;
    /** Ends the expired pending confirmations and returns their number. */
    expirePending(): Promise<number>;
  };

export type Executions = ReturnType<typeof openExecutions>;

/** Returns the submission that a claim stores. `createdAt` is the time of the consent, as ISO 8601. */
type MakeSubmission = (createdAt: string) => ExecutionSubmission;

/** Returns the stored executions. The functions throw `StorageUnavailable`. */
export function openExecutions(options: ExecutionsOptions) {
  const { storage, clock, upstreamTimeoutMs, embedded, expirePending, isSandbox = false } = options;
  const leaseMs = upstreamTimeoutMs + LEASE_MARGIN_MS;
  const queries = prepareExecutionQueries(storage, { ...options, leaseMs });
  const completion = openCompletion({ ...options, queries });
  const { settleExpired } = completion;
  const now = () => isoTime(clock.now().getTime());

  /** Returns the columns of the receipt that another process wrote. */
  async function currentReceipt(claim: Claim): Promise<Recorded> {
    const [row] = await storage.read(queries.findByAction(claim));
    // The row is gone if this process was stopped for longer than the retention. Other processes write only `failed`.
    return row ?? { ...claim, status: 'failed' };
  }

  /** Claims an execution for this process. The time of the fence counts from before the statement. */
  async function claim<Request extends ClaimRequest>(
    request: Request,
    makeSubmission: MakeSubmission,
    write: (row: Request & Claimed & ExecutionSubmission) => Promise<number>,
  ): Promise<Claim | undefined> {
    if (completion.hasPendingWrites()) await completion.flush();
    storage.requireDiskSpace();
    const claimedAt = clock.monotonic();
    const created_at = now();
    const submission = makeSubmission(created_at);
    const row = { ...request, created_at, ...submission };
    const claimed = await completion.trackUntilWritten(request, NEVER_SENT, () => write(row));
    if (claimed === 0) return undefined;
    const mayStart = () => clock.monotonic() - claimedAt < leaseMs - upstreamTimeoutMs;
    return { ...request, created_at, submission, mayStart };
  }

  return {
    /** Returns the rows of a client's key and of a preview. An expired lease is settled first. */
    async find(client: string, idempotencyKey: string, previewDigest: string) {
      const of = { client, idempotency_key: idempotencyKey, preview_digest: previewDigest };
      const find = queries.find(of);
      let rows = await storage.read(find);
      // A settled row needs no write, so replays work as long as the store can be read.
      if (completion.hasPendingWrites() && rows.some(isOpen)) {
        await completion.flush();
        rows = await storage.read(find);
      }
      if (rows.some((row) => isOpen(row) && row.lease_has_run_out)) {
        await settleExpired();
        rows = await storage.read(find);
      }
      if (rows.some(({ status }) => status === 'asked') && (await expirePending()) > 0) {
        rows = await storage.read(find);
      }
      return {
        byKey: rows.find((row) => row.client === client && row.idempotency_key === idempotencyKey),
        byPreview: rows.find((row) => row.preview_digest === previewDigest && (row.sandbox === 1) === isSandbox),
      };
    },

    /** Returns the execution of a client with this `action_id`. */
    async findByAction(client: string, action_id: string): Promise<ExecutionRow | undefined> {
      return (await storage.read(queries.findByAction({ client, action_id })))[0];
    },

    /** Records that the person declined the preview. Returns false if the key or the preview is claimed. */
    async decline(request: ClaimRequest): Promise<boolean> {
      storage.requireDiskSpace();
      return (await storage.write(queries.decline({ ...request, created_at: now() }))) === 1;
    },

    /** Returns the claim, or undefined if the key or the preview is claimed or the mailbox has reported the client. */
    claim: (request: ClaimRequest, makeSubmission: MakeSubmission, mailbox_digest: string) =>
      claim(request, makeSubmission, (row) => storage.write(queries.claim({ ...row, mailbox_digest }))),

    /** Returns the claim of a pending confirmation, or undefined if the confirmation is no longer pending. */
    confirm: (request: ConfirmRequest, makeSubmission: MakeSubmission) =>
      claim(request, makeSubmission, (row) =>
        storage.write(async (tx) => {
          if ((await tx.change(queries.confirm(row))) === 0) return 0;
          return await tx.change(queries.confirmed(row));
        }),
      ),

    /**
     * Delivers, then settles the claim by the outcome. With an embedded inbox one commit delivers and settles. Returns
     * the stored result, which another process wrote if the lease had expired.
     */
    async conclude(claim: Claim, deliver: () => Promise<Attempted>): Promise<{ outcome: Outcome; row: Recorded }> {
      if (!embedded) {
        const known = await deliver();
        const completed = await completion.trackUntilWritten(claim, known, () => completion.complete(claim, known));
        const { outcome } = known;
        return { outcome, row: completed ? settledRow(claim, outcome) : await currentReceipt(claim) };
      }
      const { action_id, client, preview_digest, submission } = claim;
      const of = { preview_digest, action_id, client, settled_at: now(), ...submission };
      const stored = await completion.trackUntilWritten(claim, NEVER_SENT, () =>
        completion.submit(claim, queries.store(of)),
      );
      if (stored > 0) return { outcome: DELIVERED, row: settledRow(claim, DELIVERED) };
      const outcome: Outcome = { kind: 'unconfirmed', reason: 'The lease had expired.' };
      return { outcome, row: await currentReceipt(claim) };
    },

    settleExpired,

    /** Writes remembered outcomes. If the store is still unavailable, the outcomes are lost as in a crash. */
    close: (): Promise<void> => completion.flush().catch(() => {}),
  };
}

/** The outcome after a failed commit of a claim, or of a delivery to the embedded inbox. Nothing was sent. */
const NEVER_SENT: Known = { outcome: { kind: 'unconfirmed', reason: 'The store was unavailable.' } };

const DELIVERED: Outcome = { kind: 'confirmed', known: false };

function settledRow(claim: Claim, outcome: Outcome): Recorded {
  return { ...claim, status: outcome.kind === 'confirmed' ? 'submitted' : 'failed' };
}

function isOpen(row: Recorded): boolean {
  return row.status === 'executing';
}
