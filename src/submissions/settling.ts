/** How an attempt's end gets into its row, whatever the store does (see `submissions.ts`). */
import type { Clock } from '../clock.ts';
import { openUnderWay } from '../operations/under-way.ts';
import {
  type Change,
  type OpenTransaction,
  type Storage,
  StorageUnavailable,
} from '../storage/database.ts';
import type { AttemptBy, SubmissionRow } from '../storage/schema.ts';
import type { Outcome } from '../upstream/upstream.ts';
import { type Attempt, lineOf } from './attempts.ts';
import { type Next, nextOf } from './schedule.ts';
import type { prepareSubmissionQueries } from './submission-queries.ts';

/** A row whose attempt is under way, and when that was taken on the monotonic clock. */
export type Taken = Pick<
  SubmissionRow,
  | 'id'
  | 'form'
  | 'email'
  | 'event'
  | 'subscriber_id'
  | 'attempt_number'
  | 'attempt_by'
  | 'resumed_status'
  | 'step'
> & { takenAt: number };

/** Written in the commit that ends an attempt: what is ready, or what depends on other rows. */
export type Alongside = Change | ((tx: OpenTransaction) => Promise<void>);

/** An attempt that has ended: whose, why it was made, how, and what comes next. */
export type Ended = Pick<SubmissionRow, 'id' | 'form' | 'email' | 'event' | 'subscriber_id'> & {
  by: AttemptBy;
  outcome: Outcome | { kind: 'unknown' };
  next: Next;
};

export type SettlingParts = {
  storage: Storage;
  clock: Clock;
  queries: ReturnType<typeof prepareSubmissionQueries>;
  /** Whether what was not confirmed is tried again. */
  redelivery: boolean;
  /** A number below another, by chance. */
  below(limit: number): number;
  /** What is written in the commit that ends an attempt: messages. */
  alongside(ended: Ended): readonly Alongside[];
  /** Told once it is written. */
  afterwards(ended: Ended): void;
};

export type Settling = {
  /**
   * Writes how an attempt ended; returns what comes next, once that is durable. `overtaken`: its lease had run out,
   * and another has ended it, or the row is gone. Where the store fails it throws `StorageUnavailable`, and the write
   * is repeated by `resolve`.
   */
  settle(
    taken: Taken,
    ended: {
      outcome: Ended['outcome'];
      attempt: Attempt;
      storedHere?: boolean;
      overdueMs?: number;
    },
  ): Promise<Next | { kind: 'overtaken' }>;
  /** What was sent while the store was away: once the commit under way has ended, its row is ended, too. */
  settleUnkept(taken: Taken, commit: Promise<unknown>, outcome: Outcome, attempt: Attempt): void;
  /** Writes what is known and could not be written yet. Throws `StorageUnavailable`. */
  resolve(): Promise<void>;
  /** Whether there is such a thing. */
  isBehind(): boolean;
  /** Whether an attempt of this row has ended here, and that is not written yet. */
  knows(id: string): boolean;
  /** Waits for the writes under way, whatever becomes of them. */
  idle(): Promise<void>;
};

/** Opens what settles the attempts of this process. */
export function openSettling(parts: SettlingParts): Settling {
  const { storage, queries } = parts;
  const unresolved = new Map<Taken, () => Promise<number>>();
  const writing = openUnderWay<Taken>();
  let resolving: Promise<void> | undefined;
  const underWay = openUnderWay<Promise<unknown>>();

  async function write(change: Change, ended: Ended, tell = parts.afterwards): Promise<number> {
    const alongside = parts.alongside(ended);
    const changed =
      alongside.length === 0
        ? await storage.write(change)
        : await storage.write(async (tx) => {
            const count = await tx.change(change);
            if (count > 0) await writeAlongside(tx, alongside);
            return count;
          });
    if (changed > 0) tell(ended);
    return changed;
  }

  async function writeUnresolved(): Promise<void> {
    // Not what comes meanwhile: that may wait for somebody who waits for this.
    for (const [taken, run] of [...unresolved]) {
      try {
        await follow(run());
      } catch (error) {
        if (error instanceof StorageUnavailable) throw error;
        // The store is there and takes this one not: nobody else waits for it.
        continue;
      }
      unresolved.delete(taken);
    }
  }

  async function follow<T>(writing: Promise<T>): Promise<T> {
    const over = underWay.add(writing);
    try {
      return await writing;
    } finally {
      over();
    }
  }

  return {
    async settle(taken, { outcome, attempt, storedHere = false, overdueMs = 0 }) {
      const { attempt_by: by, resumed_status: resumedStatus, step } = taken;
      const next = nextOf({ by, resumedStatus, step }, outcome, parts.redelivery, parts.below);
      const change = changeOf(queries, fencedBy(taken, attempt), next, storedHere, overdueMs);
      const run = () => write(change, endedOf(taken, outcome, next));
      const keepKnown = (error: unknown): never => {
        unresolved.set(taken, run);
        throw error;
      };
      // Known before it is over: whoever waits for that looks at what is known next.
      const written = writing.add(taken);
      try {
        const changed = await follow(run().catch(keepKnown));
        return changed > 0 ? next : { kind: 'overtaken' };
      } finally {
        written();
      }
    },

    settleUnkept(taken, commit, outcome, attempt) {
      const next: Next =
        outcome.kind === 'confirmed'
          ? { kind: 'delivered' }
          : { kind: 'undelivered', reason: 'sent_unkept' };
      const change = changeOf(queries, fencedBy(taken, attempt), next, false, 0);
      const ended = endedOf(taken, outcome, next);
      // Of this attempt nothing may ever be written.
      parts.afterwards(ended);
      unresolved.set(taken, async () => {
        await commit.catch(() => {});
        return await write(change, ended, () => {});
      });
    },

    resolve() {
      resolving ??= writeUnresolved().finally(() => {
        resolving = undefined;
      });
      return resolving;
    },

    isBehind: () => unresolved.size > 0,

    knows: (id) => [...writing.all(), ...unresolved.keys()].some((taken) => taken.id === id),

    async idle() {
      await Promise.allSettled(underWay.all());
    },
  };
}

/** Writes what goes with the end of an attempt. */
export async function writeAlongside(
  tx: OpenTransaction,
  alongside: readonly Alongside[],
): Promise<void> {
  for (const each of alongside) {
    if (typeof each === 'function') await each(tx);
    else await tx.change(each);
  }
}

function fencedBy({ id, attempt_number }: Taken, attempt: Attempt) {
  return { id, attempt_number, line: lineOf(attempt) };
}

function endedOf(taken: Taken, outcome: Ended['outcome'], next: Next): Ended {
  const { id, form, email, event, subscriber_id, attempt_by: by } = taken;
  return { id, form, email, event, subscriber_id, by, outcome, next };
}

function changeOf(
  queries: SettlingParts['queries'],
  fenced: { id: string; attempt_number: number; line: string },
  next: Next,
  storedHere: boolean,
  overdueMs: number,
): Change {
  switch (next.kind) {
    case 'delivered':
      return storedHere ? queries.storeWaiting(fenced) : queries.deliver(fenced);
    case 'undelivered':
      return queries.giveUp({ ...fenced, reason: next.reason });
    case 'waiting':
      return queries.wait({ ...fenced, step: next.step, delay_ms: next.delayMs - overdueMs });
    case 'resumed':
      return queries.resume(fenced);
  }
}
