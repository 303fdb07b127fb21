/**
 * Claims, leases and receipts in the database: why an execution happens at most once (spec §3).
 *
 * 1. One row is one execution. `(client, idempotency_key)` and `preview_digest` are unique, so of any
 *    number of concurrent executions with one key or one preview, one insert wins: the claim. It is
 *    committed durably before the upstream is called, in one transaction with the submission that is
 *    kept, and a row is never removed while its key could come back.
 * 2. Whoever holds the claim sends once, and starts only while more than the upstream time-out is
 *    left of the lease, counted on the monotonic clock from before the claim: the fence. So a
 *    process that was paused finds the fence shut, and no send begins after its receipt is final.
 * 3. A row leaves `executing` once: settling names the claim's own number (`action_id`) and the
 *    status it must still have. Whoever finds a lease run out settles the row as `failed`. What settles
 *    it ends its submission in the same transaction: the two never disagree, but where a yes comes later.
 * 4. Where the store fails in a claim or a settling, nobody knows whether it was committed. What is
 *    known is kept here and written on a new connection before another claim is taken or an open one
 *    looked at: what is found without a sender is settled `failed`, what the upstream has answered by its
 *    answer.
 * 5. A row may wait as `asked` before (beyond §4): it takes key and preview as a claim does, and the press is one
 *    conditional update from there to `executing`, with the submission, by whoever then holds the claim.
 * 6. Leases are judged by the database's clock, which no application's wall clock can move.
 */
import { type Clock, isoTime } from '../clock.ts';
import type { Change, Storage } from '../storage/database.ts';
import type { ExecutionRow } from '../storage/schema.ts';
import type { ExecutionSubmission } from '../submissions/execution-rows.ts';
import { LEASE_MARGIN_MS } from '../submissions/submissions.ts';
import type { Attempted } from '../submissions/submit.ts';
import type { Outcome } from '../upstream/upstream.ts';
import { type Asked, openAsked } from './asked.ts';
import { type Claim, type ClaimRequest, rowOf, rowOfRequest } from './claim.ts';
import { type Claimed, prepareExecutionQueries } from './execution-queries.ts';
import { openLapsed } from './lapsed.ts';
import type { Recorded } from './receipt.ts';
import { type DigestsOfMailbox, type IsReported, openReports } from './reports.ts';
import { type Known, openSettling } from './settling.ts';

export type ExecutionsOptions = {
  storage: Storage;
  clock: Clock;
  upstreamTimeoutMs: number;
  /** Whether the embedded inbox delivers: then the commit that settles keeps the submission. */
  embedded: boolean;
  /** Whether what was delivered keeps its content. */
  keepsDelivered: boolean;
  /** Messages that are written in the commit that makes an execution `submitted`. */
  alongside?(claim: Claim): readonly Change[];
  /** Told once that is written. */
  onSubmitted?(): void;
};

export type Executions = {
  /** What is recorded for a client's key, and for a preview; a lease that ran out is settled first. */
  find(
    client: string,
    idempotencyKey: string,
    previewDigest: string,
  ): Promise<{ byKey: ExecutionRow | undefined; byPreview: ExecutionRow | undefined }>;
  /** What a client executed, by its `action_id`. */
  findByAction(client: string, actionId: string): Promise<ExecutionRow | undefined>;
  /** Those that wait for the person's own press. */
  asked: Asked;
  /** Whether one of a mailbox's digests stands in a report of this client. */
  isReported: IsReported;
  /** Writes down the person's no by the claim's own statement; false where the key or the preview is taken. */
  decline(request: ClaimRequest): Promise<boolean>;
  /**
   * The claim, or undefined where the key or the preview is taken, or one of the mailbox's digests stands in a
   * report of this client. `keep` says what is kept with it, for the moment at which the consent is recorded.
   */
  claim(
    request: ClaimRequest,
    keep: Keep,
    digestsOfMailbox: DigestsOfMailbox,
  ): Promise<Claim | undefined>;
  /** The claim of one that was asked, or undefined where it is not any more. */
  press(request: ClaimRequest & { pressId: string }, keep: Keep): Promise<Claim | undefined>;
  /**
   * Delivers, then settles the claim by the outcome; by one commit where the destination is embedded,
   * which asks nobody. Returns the receipt that stands, which is another's if the lease had run out.
   */
  conclude(
    claim: Claim,
    deliver: () => Promise<Attempted>,
  ): Promise<{ outcome: Outcome; row: Recorded }>;
  /** Settles every claim whose lease has run out; returns how many. */
  settleExpired(): Promise<number>;
  /** Writes what is known and could not be written, if it can be now: before the store is closed. */
  close(): Promise<void>;
};

type Keep = (createdAt: string) => ExecutionSubmission;

/** Its functions throw `StorageUnavailable`. */
export function openExecutions(options: ExecutionsOptions): Executions {
  const { storage, clock, upstreamTimeoutMs, embedded, keepsDelivered } = options;
  const leaseMs = upstreamTimeoutMs + LEASE_MARGIN_MS;
  const queries = prepareExecutionQueries(storage, { leaseMs, keepsDelivered });
  const now = () => isoTime(clock.now().getTime());

  const settling = openSettling({ ...options, queries });

  /** What stands of a claim that had ended before its own process settled it. */
  async function standing(claim: Claim): Promise<Recorded> {
    const { actionId, previewDigest } = claim;
    const [row] = await storage.read((db) =>
      db
        .selectFrom('executions')
        .selectAll()
        .where('preview_digest', '=', previewDigest)
        .where('action_id', '=', actionId),
    );
    // A process that was stopped for longer than receipts are kept; others settle nothing but failures.
    return row ?? rowOf(claim, NEVER_SENT.outcome);
  }

  const settleExpired = openLapsed({ storage, queries, settling, leaseMs, now });

  const asked = openAsked({ storage, clock, queries });

  /** Runs what makes an execution this process's own; a fence from before it. */
  async function take(
    request: ClaimRequest,
    keep: Keep,
    write: (row: Claimed, submission: ExecutionSubmission) => Promise<number>,
  ): Promise<Claim | undefined> {
    if (settling.isBehind()) await settling.resolve();
    storage.requireRoom();
    const claimedAt = clock.monotonic();
    const createdAt = now();
    const submission = keep(createdAt);
    const row = rowOfRequest(request, createdAt);
    const claimed = await settling.keeping(request, NEVER_SENT, () => write(row, submission));
    if (claimed === 0) return undefined;
    const mayStart = () => clock.monotonic() - claimedAt < leaseMs - upstreamTimeoutMs;
    return { ...request, createdAt, submission, mayStart };
  }

  const isReported = openReports(storage);
  return {
    asked,
    isReported,

    async find(client, idempotencyKey, previewDigest) {
      const of = { client, idempotency_key: idempotencyKey, preview_digest: previewDigest };
      const find = queries.find(of);
      let rows = await storage.read(find);
      // What has ended needs no writing: it is replayed for as long as the store can be read.
      if (settling.isBehind() && rows.some(isOpen)) {
        await settling.resolve();
        rows = await storage.read(find);
      }
      if (rows.some((row) => isOpen(row) && row.lease_has_run_out)) {
        await settleExpired();
        rows = await storage.read(find);
      }
      if (rows.some(({ status }) => status === 'asked') && (await asked.expire()) > 0) {
        rows = await storage.read(find);
      }
      return {
        byKey: rows.find((row) => row.client === client && row.idempotency_key === idempotencyKey),
        byPreview: rows.find((row) => row.preview_digest === previewDigest),
      };
    },

    async findByAction(client, actionId) {
      return (await storage.read(queries.findByAction({ client, action_id: actionId })))[0];
    },

    async decline(request) {
      storage.requireRoom();
      return (await storage.write(queries.decline(rowOfRequest(request, now())))) === 1;
    },

    async claim(request, keep, digestsOfMailbox) {
      const { claim, claimAlone, claimOfUnreported, claimAloneOfUnreported } = queries;
      const claimed = await take(request, keep, (row, submission) =>
        storage.write(
          embedded ? claimAloneOfUnreported(row) : claimOfUnreported({ ...row, ...submission }),
        ),
      );
      if (claimed !== undefined) return claimed;
      if (await isReported(request.client, digestsOfMailbox)) return undefined;
      // Others have reported the client, or it is taken.
      return await take(request, keep, (row, submission) =>
        storage.write(embedded ? claimAlone(row) : claim({ ...row, ...submission })),
      );
    },

    press: (request, keep) =>
      take(request, keep, async (row, submission) => {
        const { action_id, preview_digest, created_at, confirmation_text } = row;
        const pressed = {
          action_id,
          preview_digest,
          created_at,
          confirmation_text,
          now: created_at,
        };
        const { press, pressAlone } = queries;
        const change = embedded ? pressAlone(pressed) : press({ ...pressed, ...submission });
        return await storage.write(async (tx) => {
          if ((await tx.change(change)) === 0) return 0;
          return await tx.change(queries.pressed({ id: action_id, press_id: request.pressId }));
        });
      }),

    async conclude(claim, deliver) {
      if (!embedded) {
        const known = await deliver();
        const settled = await settling.keeping(claim, known, () => settling.settle(claim, known));
        const { outcome } = known;
        return { outcome, row: settled ? rowOf(claim, outcome) : await standing(claim) };
      }
      const { actionId: action_id, previewDigest: preview_digest, submission } = claim;
      const of = { preview_digest, action_id, settled_at: now(), ...submission };
      const stored = await settling.keeping(claim, NEVER_SENT, () =>
        settling.submit(claim, queries.store(of)),
      );
      if (stored > 0) return { outcome: DELIVERED, row: rowOf(claim, DELIVERED) };
      const outcome: Outcome = { kind: 'unconfirmed', reason: 'The lease had run out.' };
      return { outcome, row: await standing(claim) };
    },

    settleExpired,

    // Where the store is still away, it is as if the process had died.
    close: () => settling.resolve().catch(() => {}),
  };
}

/** Without its commit nothing was sent: neither after a claim nor, if embedded, after a delivery. */
const NEVER_SENT: Known = { outcome: { kind: 'unconfirmed', reason: 'The store was away.' } };

const DELIVERED: Outcome = { kind: 'confirmed', known: false };

function isOpen(row: Recorded): boolean {
  return row.status === 'executing';
}
