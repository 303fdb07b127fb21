/**
 * Redelivery: what a browser sent and the upstream did not confirm is attempted again by its schedule, and what
 * the operator asked for at once (beyond §1). Whichever instance is there does it, one row at a time.
 */
import { type Clock, every } from '../clock.ts';
import type { Log } from '../operations/log.ts';
import type { Outcome } from '../upstream/upstream.ts';
import type { Submissions } from './submissions.ts';

/** How often what is due is looked for. */
const LOOK_EVERY_MS = 5_000;

/** After a redelivery that got no HTTP status: the upstream is away, for all rows alike. */
const PAUSE_MS = 60_000;

export type Redelivery = {
  /** Attempts what is due and what was asked for; a fault is logged, and the next time tries again. */
  work(): Promise<void>;
  /** Works every five seconds from the next ones on, until `close`. */
  start(): void;
  /** Waits for the attempts under way. */
  close(): Promise<void>;
};

export type RedeliveryParts = {
  submissions: Submissions;
  clock: Clock;
  log: Log;
};

/** Does nothing before `work` or `start`, and nothing at all where submissions are not configured. */
export function openRedelivery({ submissions, clock, log }: RedeliveryParts): Redelivery {
  const { storage, upstream, redelivery } = submissions.options;
  const { queries } = submissions;
  let pausedUntil = Number.NEGATIVE_INFINITY;
  let closing = false;
  let stop = () => {};

  /** Attempts the first row of a kind; returns how that ended, or undefined where there is none. */
  async function next(by: 'redelivery' | 'operator'): Promise<Outcome | undefined> {
    const look = by === 'operator' ? queries.nextAskedFor : queries.nextDue;
    while (!closing) {
      const [row] = await storage.read(look({}));
      if (row === undefined) return undefined;
      const taken = await submissions.take(row, by);
      // Another instance, or the person, was first: there may be more.
      if (taken === undefined) continue;
      const { outcome, attempt } = await submissions.attempt(taken);
      // Before it is written, which may fail.
      if (by === 'redelivery' && isAway(outcome)) pausedUntil = clock.monotonic() + PAUSE_MS;
      const storedHere = upstream?.embedded === true;
      const { kind } = await submissions.settle(taken, { outcome, attempt, storedHere });
      log.info({ submissionId: row.id, by, outcome, status: kind }, 'submission sent again');
      return outcome;
    }
    return undefined;
  }

  async function redeliver(): Promise<void> {
    if (!redelivery) return;
    while (!closing && clock.monotonic() >= pausedUntil) {
      if ((await next('redelivery')) === undefined) return;
    }
  }

  async function resend(): Promise<void> {
    while ((await next('operator')) !== undefined);
  }

  const works = [redeliver, resend].map((run) => alone(run, log));

  async function work(): Promise<void> {
    if (closing || upstream === undefined) return;
    await Promise.all(works.map((one) => one()));
  }

  return {
    work,
    start() {
      stop = every(clock, LOOK_EVERY_MS, work);
    },
    async close() {
      closing = true;
      stop();
      await Promise.all(works.map((one) => one()));
    },
  };
}

/** Whether it got no HTTP status. */
function isAway(outcome: Outcome): boolean {
  return outcome.kind === 'unconfirmed' && outcome.answered === undefined;
}

/** Never overlaps itself: what comes due meanwhile is found the next time. */
function alone(run: () => Promise<void>, log: Log): () => Promise<void> {
  let working: Promise<void> | undefined;
  return () => {
    working ??= run()
      .catch((error: unknown) => {
        log.error({ err: error }, 'submissions could not be sent again');
      })
      .finally(() => {
        working = undefined;
      });
    return working;
  };
}
