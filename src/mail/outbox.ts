/**
 * Sends e-mail from a durable queue with one row for each kind and key (reference §11.1). Texts are rendered at send
 * time.
 *
 * 1. At least once. One conditional update claims a row, counts the attempt and schedules the next one. This update
 *    commits before the send. If the worker dies, the row becomes due again.
 * 2. One send at a time. All attempts share the row's `Message-ID`. A send ends before the shortest retry delay.
 * 3. Duplicates. A sent row is marked at once. While the database is unavailable, the process remembers the mark
 *    (`storage/pending-writes.ts`) and claims no other row. A message is sent twice only if the process dies, or stops
 *    for a minute, before the mark.
 */

import type { Clock } from '../platform/clock.ts';
import { openJob } from '../platform/jobs.ts';
import type { Log } from '../platform/log.ts';
import { type NewId, newId as systemId } from '../platform/random.ts';
import type { Storage } from '../storage/database.ts';
import type { MessageKind, MessageRow } from '../storage/operation-schema.ts';
import { openPendingWrites } from '../storage/pending-writes.ts';
import { CONCURRENT_SENDS, type Mailer, reasonOf, type SendResult } from './mail.ts';
import type { Render } from './messages.ts';
import { ATTEMPTS, openOutboxRows, START_WITHIN_MS } from './outbox-rows.ts';

const TICK_MS = 1_000;
const SWEEP_EVERY_MS = 3_600_000;
/**
 * Longest wait for the sends under way, in milliseconds. A shutdown has this time in addition to the upstream timeout
 * (reference §20.6, `UPSTREAM_TIMEOUT_MS`).
 */
const CLOSE_WITHIN_MS = 5_000;

export type OutboxOptions = {
  storage: Storage;
  clock: Clock;
  newId?: NewId;
  mailer: Mailer;
  render: Render;
  /** Called before each search for due messages: applies the hourly limit to notices. */
  prepare?: () => Promise<void>;
  /** Called with the kind of each message that failed permanently. */
  onFailed?: (kind: MessageKind) => void;
  /** `MAIL_PER_MINUTE`. */
  perMinute: number;
  log: Log;
  /** Host of `BASE_URL`: the part of each `Message-ID` after the `@`. */
  hostname?: string;
  /** Time for which `close` waits for sends under way. */
  closeWithinMs?: number;
};

export type Outbox = ReturnType<typeof openOutbox>;

/** Opens the outbox. Closing the outbox also closes its mailer. `work` and `depth` throw `StorageUnavailable`. */
export function openOutbox(options: OutboxOptions) {
  const { storage, clock, mailer, render, perMinute, log, onFailed } = options;
  const { newId = systemId, hostname = 'localhost', closeWithinMs = CLOSE_WITHIN_MS } = options;
  const rows = openOutboxRows(storage, {
    clock,
    newId,
    perMinute,
    hostname,
    onFailed: ({ kind }) => onFailed?.(kind),
  });
  const sending = new Set<Promise<void>>();
  const marks = openPendingWrites<MessageRow>();
  let sweptAt = Number.NEGATIVE_INFINITY;

  async function conclude(row: MessageRow, status: 'sent' | 'dead', reply?: string): Promise<void> {
    try {
      await marks.track(row, () => rows.mark(row, status, reply));
    } catch (error) {
      log.error({ messageId: row.message_id, reason: reasonOf(error) }, 'message outcome not stored yet');
    }
  }

  /**
   * Renders and sends a claimed message. Every error counts as a temporary refusal, so that one bad message doesn't
   * stop the other messages.
   */
  async function send(
    row: MessageRow,
    claimedAt: number,
  ): Promise<SendResult | { kind: 'obsolete' } | { kind: 'late' }> {
    try {
      const content = await render(row);
      if (content === undefined) {
        // An earlier attempt may have arrived, so the row keeps the daily limit of its mailbox.
        if (row.attempts > 1) await conclude(row, 'sent');
        else await rows.remove(row);
        return { kind: 'obsolete' };
      }
      // The time is checked after rendering, because rendering reads the store and may have taken long.
      if (clock.monotonic() - claimedAt > START_WITHIN_MS) return { kind: 'late' };
      return await mailer.send({ ...content, messageId: row.message_id });
    } catch (error) {
      return { kind: 'refused', permanent: false, reason: reasonOf(error) };
    }
  }

  async function attempt(row: MessageRow, claimedAt: number): Promise<void> {
    const entry = { messageId: row.message_id, kind: row.kind, attempt: row.attempts };
    const result = await send(row, claimedAt);
    if (result.kind === 'late') log.warn(entry, 'message attempt skipped after a pause');
    else if (result.kind === 'obsolete') log.info(entry, 'obsolete message dropped');
    else if (result.kind === 'sent') {
      log.info(entry, 'message sent');
      await conclude(row, 'sent');
    } else if (result.permanent || row.attempts >= ATTEMPTS) {
      log.error({ ...entry, reason: result.reason }, 'message failed permanently');
      onFailed?.(row.kind);
      await conclude(row, 'dead', result.reply);
    } else {
      // The claim has scheduled the next attempt.
      log.warn({ ...entry, reason: result.reason }, 'message deferred');
    }
  }

  /** Claims due messages and starts to send them. Returns their number. Waits only while all sends are in use. */
  async function dispatch(signal: AbortSignal): Promise<number> {
    if (clock.monotonic() - sweptAt >= SWEEP_EVERY_MS) {
      await rows.sweep();
      sweptAt = clock.monotonic();
    }
    try {
      await options.prepare?.();
    } catch (error) {
      // If notices can't be prepared, other messages are still sent.
      log.error({ reason: reasonOf(error) }, 'notices not throttled');
    }
    for (let attempts = 0; ; attempts += 1) {
      while (sending.size >= CONCURRENT_SENDS) await Promise.race(sending);
      if (signal.aborted) return attempts;
      await marks.idle();
      await marks.flush();
      const claimedAt = clock.monotonic();
      const row = await rows.claim();
      if (row === undefined) return attempts;
      const sent = attempt(row, claimedAt).finally(() => sending.delete(sent));
      sending.add(sent);
    }
  }

  const job = openJob({
    clock,
    everyMs: TICK_MS,
    work: dispatch,
    failed: (error) => log.error({ reason: reasonOf(error) }, 'outbox not processed'),
    repeatsFailures: true,
  });

  async function end(): Promise<void> {
    await job.close();
    await Promise.all(sending);
  }

  return {
    depth: rows.depth,
    messageTo: rows.messageTo,

    /** Attempts all due messages within the limit per minute. Returns the number of attempts after they have ended. */
    async work(): Promise<number> {
      try {
        return await job.work();
      } finally {
        await Promise.all(sending);
      }
    },

    /** Works every second until `close`. */
    start: job.start,

    /** Waits at most 5 s for the sends under way, then closes the mailer. Interrupted messages stay pending. */
    async close(): Promise<void> {
      await new Promise<void>((resolve) => {
        const callOff = clock.after(closeWithinMs, resolve);
        end().then(() => {
          callOff();
          resolve();
        });
      });
      await mailer.close();
      await end();
      // If the database is still unavailable, the marks are lost as in a crash.
      await marks.flush().catch(() => {});
    },
  };
}
