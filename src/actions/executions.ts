/**
 * Claims, leases and receipts in the database: why an execution happens at most once (spec §3).
 *
 * 1. One row is one execution. `(client, idempotency_key)` and `preview_digest` are unique, so of any
 *    number of concurrent executions with one key or one preview, one insert wins: the claim. It is
 *    one statement, committed durably before the upstream is called, and a row is never removed
 *    while its key could come back.
 * 2. Whoever holds the claim sends once, and starts only while more than the upstream time-out is
 *    left of the lease, counted on the monotonic clock from before the claim: the fence. So a
 *    process that was paused finds the fence shut, and no send begins after its receipt is final.
 * 3. A row leaves `executing` once: settling names the claim's own number (`action_id`) and the
 *    status it must still have. Whoever finds a lease run out settles the row as `failed`.
 * 4. Where the store fails in a claim or a settling, nobody knows whether it was committed. What is
 *    known is kept here and written on a new connection before another claim is taken or an open one
 *    looked at: what is found without a sender is settled `failed`, what the upstream has answered by its
 *    answer.
 * 5. Leases are judged by the database's clock, which no application's wall clock can move.
 */
import { type Clock, isoTime } from '../clock.ts';
import { openUnderWay } from '../operations/under-way.ts';
import type { Change, OpenTransaction, Selects, Storage } from '../storage/database.ts';
import type { ExecutionRow } from '../storage/schema.ts';
import type { Outcome } from '../upstream/upstream.ts';
import { prepareExecutionQueries } from './execution-queries.ts';
import type { Recorded } from './receipt.ts';

/** What the lease leaves beyond the upstream time-out: sends start within it, answers settle in it. */
export const LEASE_MARGIN_MS = 5_000;

type ClaimRequest = {
  actionId: string;
  action: string;
  client: string;
  idempotencyKey: string;
  previewDigest: string;
  confirmationText: string;
};

/** A claim that was won. The send may start while `mayStart()` says so. */
type Claim = ClaimRequest & { createdAt: string; mayStart(): boolean };

export type Executions = {
  /** What is recorded for a client's key, and for a preview; a lease that ran out is settled first. */
  find(
    client: string,
    idempotencyKey: string,
    previewDigest: string,
  ): Promise<{ byKey: ExecutionRow | undefined; byPreview: ExecutionRow | undefined }>;
  /** The claim, or undefined where the key or the preview is taken. */
  claim(request: ClaimRequest): Promise<Claim | undefined>;
  /**
   * Delivers, then settles the claim by the outcome; in one transaction where the destination is
   * embedded. Returns the receipt that stands, which is another's if the lease had run out.
   */
  conclude(
    claim: Claim,
    embedded: boolean,
    deliver: (within: OpenTransaction | undefined) => Promise<Outcome>,
  ): Promise<{ outcome: Outcome; row: Recorded }>;
  /** Settles every claim whose lease has run out; returns how many. */
  settleExpired(): Promise<number>;
  /** Writes what is known and could not be written, if it can be now: before the store is closed. */
  close(): Promise<void>;
};

/** Its functions throw `StorageUnavailable`. */
export function openExecutions(
  storage: Storage,
  clock: Clock,
  upstreamTimeoutMs: number,
): Executions {
  const leaseMs = upstreamTimeoutMs + LEASE_MARGIN_MS;
  const queries = prepareExecutionQueries(storage, leaseMs);

  function settling({ actionId, previewDigest }: ClaimRequest, outcome: Outcome): Change {
    return queries.settle({
      preview_digest: previewDigest,
      action_id: actionId,
      status: statusOf(outcome),
      settled_at: isoTime(clock.now().getTime()),
    });
  }

  /** How an execution ended whose last statement has an unknown outcome. */
  const unresolved = new Map<ClaimRequest, Outcome>();

  /** Statements that may yet fail. */
  const underWay = openUnderWay<Promise<unknown>>();

  async function resolve(): Promise<void> {
    for (const [claimed, outcome] of unresolved) {
      await storage.write(settling(claimed, outcome));
      unresolved.delete(claimed);
    }
  }

  /** Runs a statement about one execution; if the store fails in it, `outcome` is what is known. */
  async function keeping<T>(
    claimed: ClaimRequest,
    outcome: Outcome,
    run: () => Promise<T>,
  ): Promise<T> {
    const attempt = async () => {
      try {
        return await run();
      } catch (error) {
        unresolved.set(claimed, outcome);
        throw error;
      }
    };
    const written = attempt().finally(() => ended());
    const ended = underWay.add(written);
    return await written;
  }

  async function settleExpired(): Promise<number> {
    // What is known here comes first, also where writing it is about to fail.
    await Promise.allSettled(underWay.all());
    await resolve();
    const now = isoTime(clock.now().getTime());
    return await storage.write(queries.settleExpired({ settled_at: now }));
  }

  return {
    async find(client, idempotencyKey, previewDigest) {
      const find = queries.find({
        client,
        idempotency_key: idempotencyKey,
        preview_digest: previewDigest,
      });
      let rows = await storage.read(find);
      // What has ended needs no writing: it is replayed for as long as the store can be read.
      if (unresolved.size > 0 && rows.some(isOpen)) {
        await resolve();
        rows = await storage.read(find);
      }
      if (rows.some((row) => isOpen(row) && row.lease_has_run_out)) {
        await settleExpired();
        rows = await storage.read(find);
      }
      return {
        byKey: rows.find((row) => row.client === client && row.idempotency_key === idempotencyKey),
        byPreview: rows.find((row) => row.preview_digest === previewDigest),
      };
    },

    async claim(request) {
      if (unresolved.size > 0) await resolve();
      storage.requireRoom();
      const claimedAt = clock.monotonic();
      const createdAt = isoTime(clock.now().getTime());
      const insert = queries.claim({
        action_id: request.actionId,
        action: request.action,
        client: request.client,
        idempotency_key: request.idempotencyKey,
        preview_digest: request.previewDigest,
        created_at: createdAt,
        confirmation_text: request.confirmationText,
      });
      const claimed = await keeping(request, NEVER_SENT, () => storage.write(insert));
      if (claimed === 0) return undefined;
      const mayStart = () => clock.monotonic() - claimedAt < leaseMs - upstreamTimeoutMs;
      return { ...request, createdAt, mayStart };
    },

    async conclude(claim, embedded, deliver) {
      if (!embedded) {
        const outcome = await deliver(undefined);
        const settled = await keeping(claim, outcome, () =>
          storage.write(settling(claim, outcome)),
        );
        if (settled === 1) return { outcome, row: rowOf(claim, outcome) };
        const [row] = await storage.read((db) => standing(db, claim));
        if (row === undefined) throw new Error('A claimed row is gone.');
        return { outcome, row };
      }
      return await keeping(claim, NEVER_SENT, () =>
        storage.write(async (tx) => {
          const delivered: Outcome = { kind: 'confirmed', known: false };
          if ((await tx.change(settling(claim, delivered))) === 0) return await lost(tx, claim);
          return { outcome: await deliver(tx), row: rowOf(claim, delivered) };
        }),
      );
    },

    settleExpired,

    // Where the store is still away, it is as if the process had died.
    close: () => resolve().catch(() => {}),
  };
}

/** Without its commit nothing was sent: neither after a claim nor, if embedded, after a delivery. */
const NEVER_SENT: Outcome = { kind: 'unconfirmed', reason: 'The store was away.' };

function isOpen(row: Recorded): boolean {
  return row.status === 'executing';
}

function statusOf(outcome: Outcome): 'submitted' | 'failed' {
  return outcome.kind === 'confirmed' ? 'submitted' : 'failed';
}

/** What stands once the claim was settled by that outcome. */
function rowOf(claim: Claim, outcome: Outcome): Recorded {
  return {
    action_id: claim.actionId,
    action: claim.action,
    client: claim.client,
    status: statusOf(outcome),
    created_at: claim.createdAt,
    confirmation_text: claim.confirmationText,
  };
}

/** The claim was settled by somebody else: nothing is delivered any more. */
async function lost(tx: OpenTransaction, claimed: ClaimRequest) {
  const outcome: Outcome = { kind: 'unconfirmed', reason: 'The lease had run out.' };
  return { outcome, row: await standing(tx, claimed).executeTakeFirstOrThrow() };
}

/** What stands of an execution, whoever settled it. */
function standing(db: Selects, { actionId, previewDigest }: ClaimRequest) {
  return db
    .selectFrom('executions')
    .selectAll()
    .where('preview_digest', '=', previewDigest)
    .where('action_id', '=', actionId);
}
