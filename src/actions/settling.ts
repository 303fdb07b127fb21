/** How an execution's end gets into its row and its submission's, whatever the store does (see `executions.ts`). */
import { type Clock, isoTime } from '../clock.ts';
import { openUnderWay } from '../operations/under-way.ts';
import type { Change, Storage } from '../storage/database.ts';
import { type Attempt, lineOf } from '../submissions/attempts.ts';
import type { Outcome } from '../upstream/upstream.ts';
import type { Claim, ClaimRequest } from './claim.ts';
import type { prepareExecutionQueries } from './execution-queries.ts';

/** What is known of an execution's end; no attempt where nothing was sent. */
export type Known = { outcome: Outcome; attempt?: Attempt };

type SettlingParts = {
  storage: Storage;
  clock: Clock;
  queries: ReturnType<typeof prepareExecutionQueries>;
  /** Messages that are written in the commit that makes an execution `submitted`. */
  alongside?(claim: Claim): readonly Change[];
  /** Told once that is written. */
  onSubmitted?(): void;
};

export type Settling = {
  /** Settles a claim by what is known of it; returns whether it had not ended before. */
  settle(claimed: ClaimRequest, known: Known): Promise<boolean>;
  /** Runs what submits a claim, with its messages; returns how many rows it changed. */
  submit(claim: Claim, change: Change): Promise<number>;
  /** Runs a statement about one execution; if the store fails in it, `known` is what is known. */
  keeping<T>(claimed: ClaimRequest, known: Known, run: () => Promise<T>): Promise<T>;
  /** Writes what is known of those whose last statement has an unknown outcome. */
  resolve(): Promise<void>;
  /** Whether there are such. */
  isBehind(): boolean;
  /** Waits for the statements under way, whatever becomes of them. */
  idle(): Promise<void>;
  /** The ids of the executions that have a statement under way, or an end that is not written yet. */
  known(): string[];
};

/** Its functions throw `StorageUnavailable`. */
export function openSettling(parts: SettlingParts): Settling {
  const { storage, clock, queries } = parts;
  const unresolved = new Map<ClaimRequest, Known>();
  /** Statements that may yet fail. */
  const underWay = openUnderWay<{ claimed: ClaimRequest; written: Promise<unknown> }>();

  async function submit(claim: Claim, change: Change): Promise<number> {
    const messages = parts.alongside?.(claim) ?? [];
    const submitted =
      messages.length === 0
        ? await storage.write(change)
        : await storage.write(async (tx) => {
            const count = await tx.change(change);
            if (count > 0) for (const message of messages) await tx.change(message);
            return count;
          });
    if (submitted > 0) parts.onSubmitted?.();
    return submitted;
  }

  async function settle(claimed: ClaimRequest, { outcome, attempt }: Known): Promise<boolean> {
    const { actionId: action_id, previewDigest: preview_digest } = claimed;
    const line = attempt === undefined ? '' : lineOf(attempt);
    const settled_at = isoTime(clock.now().getTime());
    const to = { preview_digest, action_id, settled_at, line };
    const { pressId } = claimed;
    // Of a press that may have failed: another one may be under way by now.
    if (!isClaim(claimed) && pressId !== undefined) {
      return (await storage.write(queries.failPress({ ...to, press_id: pressId }))) > 0;
    }
    if (outcome.kind !== 'confirmed' || !isClaim(claimed)) {
      return (await storage.write(queries.fail(to))) > 0;
    }
    if ((await submit(claimed, queries.submit(to))) > 0) return true;
    // A yes that came after the lease is recorded; the receipt never changes (beyond §1).
    await storage.write(queries.deliverLate({ action_id, line }));
    return false;
  }

  return {
    settle,
    submit,

    async keeping(claimed, known, run) {
      const attempt = async () => {
        try {
          return await run();
        } catch (error) {
          unresolved.set(claimed, known);
          throw error;
        }
      };
      const written = attempt().finally(() => ended());
      const ended = underWay.add({ claimed, written });
      return await written;
    },

    async resolve() {
      for (const [claimed, known] of unresolved) {
        await settle(claimed, known);
        unresolved.delete(claimed);
      }
    },

    isBehind: () => unresolved.size > 0,

    async idle() {
      await Promise.allSettled(underWay.all().map(({ written }) => written));
    },

    known() {
      const claims = [...underWay.all().map(({ claimed }) => claimed), ...unresolved.keys()];
      return claims.map(({ actionId }) => actionId);
    },
  };
}

/** Only a claim that was won has a submission that may arrive. */
function isClaim(claimed: ClaimRequest): claimed is Claim {
  return 'submission' in claimed;
}
