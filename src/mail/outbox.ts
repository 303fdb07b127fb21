/**
 * The durable outbox of all messages, by kind and key (contract §4, "`/api/subscribe`"; beyond §2). What one
 * says is made when it is sent.
 *
 * 1. A row is taken by one conditional update, which counts the attempt and puts the next one a
 *    back-off later, and is committed before the send begins. So of several workers one takes it,
 *    and a worker that dies leaves a row that comes due by itself: at least once.
 * 2. Every attempt goes out under the row's one `Message-ID`. A send ends (see `Mailer`) before the
 *    shortest back-off has passed, so a message is never under way twice.
 * 3. What was sent is marked at once; while the store is away the mark is kept here, and nothing else
 *    is taken. So a message comes twice only if the process died between the server's 250 and the mark.
 */
import { type NewId, newId as systemId } from '../chance.ts';
import { type Clock, every } from '../clock.ts';
import type { Log } from '../operations/log.ts';
import type { Change, Storage } from '../storage/database.ts';
import type { MessageKind, MessageRow } from '../storage/schema.ts';
import { CONCURRENT_SENDS, type Mailer, reasonOf, type SendResult } from './mail.ts';
import type { Render } from './messages.ts';
import { ATTEMPTS, openRows } from './outbox-rows.ts';

const TICK_MS = 1_000;
const SWEEP_EVERY_MS = 3_600_000;
/** A worker that was paused between the take and the send leaves the row to the next attempt. */
const START_WITHIN_MS = 5_000;
/** What a drain allows beyond the upstream time-out (contract §2, `UPSTREAM_TIMEOUT_MS`). */
const CLOSE_WITHIN_MS = 5_000;

export type OutboxOptions = {
  storage: Storage;
  clock: Clock;
  newId?: NewId;
  mailer: Mailer;
  render: Render;
  /** What is done before messages are looked for: notices get their places in an hour. */
  prepare?: () => Promise<void>;
  /** Told of the kind of each message that is given up. */
  onDead?: (kind: MessageKind) => void;
  /** `MAIL_PER_MINUTE`. */
  perMinute: number;
  log: Log;
  /** Of `BASE_URL`: the right side of each `Message-ID`. */
  hostname?: string;
  /** How long `close` waits for sends under way. */
  closeWithinMs?: number;
};

export type Outbox = {
  /**
   * What keeps a confirmation for a valid address, unless its mailbox had one in the last 24 hours, inside of the
   * transaction that it is about. It is sent within a second.
   */
  messageTo(address: string): Change;
  /** Attempts whatever is due and within the budget, waits for it, and returns how many attempts. */
  work(): Promise<number>;
  /** Works every second from the next one on, until `close`. */
  start(): void;
  /** Waits 5 s, at most, for the sends under way, then closes the mailer: what it ends stays pending. */
  close(): Promise<void>;
  depth(): Promise<{ pending: number; dead: number }>;
};

/** Opens the outbox, which closes its mailer. `work` and `depth` throw `StorageUnavailable`. */
export function openOutbox(options: OutboxOptions): Outbox {
  const { storage, clock, mailer, render, perMinute, log } = options;
  const { prepare = async () => {}, onDead = () => {} } = options;
  const { newId = systemId, hostname = 'localhost', closeWithinMs = CLOSE_WITHIN_MS } = options;
  const died = ({ kind }: MessageRow) => onDead(kind);
  const rows = openRows(storage, { clock, newId, perMinute, hostname, died });
  const sending = new Set<Promise<void>>();
  /** Marks that are not in the database yet. */
  const unwritten = new Map<MessageRow, 'sent' | 'dead'>();
  let stopTicking: (() => void) | undefined;
  let ticking: Promise<void> | undefined;
  let closing = false;
  let sweptAt = Number.NEGATIVE_INFINITY;

  async function writeMarks(): Promise<void> {
    for (const [row, status] of unwritten) {
      await rows.mark(row, status);
      unwritten.delete(row);
    }
  }

  async function conclude(row: MessageRow, status: 'sent' | 'dead'): Promise<void> {
    unwritten.set(row, status);
    try {
      await writeMarks();
    } catch (error) {
      log.error({ messageId: row.message_id, reason: reasonOf(error) }, 'outbox mark has to wait');
    }
  }

  /** One poisoned message doesn't hold up the others: whatever is thrown is a temporary refusal. */
  async function send(
    row: MessageRow,
    takenAt: number,
  ): Promise<SendResult | { kind: 'nothing' } | { kind: 'late' }> {
    try {
      const letter = await render(row);
      if (letter === undefined) {
        // One that was tried before may have arrived: its row goes on being the cap of its mailbox.
        if (row.attempts > 1) await conclude(row, 'sent');
        else await rows.remove(row);
        return { kind: 'nothing' };
      }
      // What it says was read from the store, and a pause may have been in that as well.
      if (clock.monotonic() - takenAt > START_WITHIN_MS) return { kind: 'late' };
      return await mailer.send({ ...letter, messageId: row.message_id });
    } catch (error) {
      return { kind: 'refused', permanent: false, reason: reasonOf(error) };
    }
  }

  async function attempt(row: MessageRow, takenAt: number): Promise<void> {
    const entry = { messageId: row.message_id, kind: row.kind, attempt: row.attempts };
    const result = await send(row, takenAt);
    if (result.kind === 'late') log.warn(entry, 'message left to its next attempt after a pause');
    else if (result.kind === 'nothing') log.info(entry, 'message dropped: nothing is left to say');
    else if (result.kind === 'sent') {
      log.info(entry, 'message sent');
      await conclude(row, 'sent');
    } else if (result.permanent || row.attempts >= ATTEMPTS) {
      log.error({ ...entry, reason: result.reason }, 'message given up');
      onDead(row.kind);
      await conclude(row, 'dead');
    } else {
      // Taking the row has put its next attempt where it belongs.
      log.warn({ ...entry, reason: result.reason }, 'message deferred');
    }
  }

  /** What has no place yet holds up nothing that has. */
  async function prepareAloud(): Promise<void> {
    try {
      await prepare();
    } catch (error) {
      log.error({ reason: reasonOf(error) }, 'notices could not be looked at');
    }
  }

  /** Takes what is due and starts to send it; returns how many. Waits only for a free place. */
  async function dispatch(): Promise<number> {
    if (clock.monotonic() - sweptAt >= SWEEP_EVERY_MS) {
      await rows.sweep();
      sweptAt = clock.monotonic();
    }
    await prepareAloud();
    for (let attempts = 0; ; attempts += 1) {
      while (sending.size >= CONCURRENT_SENDS) await Promise.race(sending);
      if (closing) return attempts;
      await writeMarks();
      const takenAt = clock.monotonic();
      const row = await rows.take();
      if (row === undefined) return attempts;
      const sent = attempt(row, takenAt).finally(() => sending.delete(sent));
      sending.add(sent);
    }
  }

  /** Never overlaps itself; a row it has just missed waits for the next tick. */
  function tick(): void {
    ticking ??= dispatch()
      .then(
        () => {},
        (error) => log.error({ reason: reasonOf(error) }, 'outbox could not work'),
      )
      .finally(() => {
        ticking = undefined;
      });
  }

  async function idle(): Promise<void> {
    await ticking;
    await Promise.all(sending);
  }

  return {
    depth: rows.depth,
    messageTo: rows.messageTo,

    async work() {
      try {
        return await dispatch();
      } finally {
        await Promise.all(sending);
      }
    },

    start() {
      stopTicking ??= every(clock, TICK_MS, tick);
    },

    async close() {
      closing = true;
      stopTicking?.();
      await new Promise<void>((resolve) => {
        const callOff = clock.after(closeWithinMs, resolve);
        idle().then(() => {
          callOff();
          resolve();
        });
      });
      await mailer.close();
      await idle();
    },
  };
}
