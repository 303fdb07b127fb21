/** The rows of the outbox. `outbox.ts` explains how they are claimed. Times are ISO 8601 text. */
import type { ExpressionBuilder, QueryCreator } from 'kysely';
import type { Clock } from '../platform/clock.ts';
import type { NewId } from '../platform/random.ts';
import type { Change, Selects, Storage } from '../storage/database.ts';
import type { MessageRow } from '../storage/operation-schema.ts';
import { prepareChange, prepareRead } from '../storage/queries.ts';
import type { Schema } from '../storage/schema.ts';
import { CAP_MS, type CappedKind, mailboxOf, PRIORITIES, prepareCappedMessage } from './messages.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Delays after the first attempt, the second and so on. The seventh attempt is the last. */
const BACK_OFF_MS = [MINUTE_MS, 5 * MINUTE_MS, 30 * MINUTE_MS, 2 * HOUR_MS, 6 * HOUR_MS, 12 * HOUR_MS];

/**
 * Longest time between claim and send, in milliseconds. After a longer pause the worker does not send, and the next
 * attempt sends the message.
 */
export const START_WITHIN_MS = 5_000;

/** Number of attempts before a message has failed permanently. */
export const ATTEMPTS = BACK_OFF_MS.length + 1;

/** A row as it was read. A statement changes the row only if it is still the same. */
type ReadRow = Pick<MessageRow, 'kind' | 'key' | 'message_id' | 'attempts'>;
type Lately = { now: string; minute_ago: string; until: string };

function prepareOutboxQueries(storage: Storage, perMinute: number) {
  /**
   * Builds the query for the attempts of the last minute. The condition on `next_attempt_at` is true for all these
   * attempts, and lets the query use the index. A process may stop for up to `START_WITHIN_MS` between reading the
   * time and the claim, so later attempts of other processes count as well.
   */
  const spent = (db: Selects, of: Lately) =>
    db
      .selectFrom('messages')
      .select((row) => row.fn.countAll<number>().as('attempts'))
      .where('status', 'in', ['pending', 'sent', 'dead'])
      .where('next_attempt_at', '>', of.now)
      // The index needs both conditions.
      .where('priority', 'in', PRIORITIES)
      .where('last_attempt_at', '>', of.minute_ago)
      .where('last_attempt_at', '<=', of.until);

  /** Uses the clock of leases, so that a step of the wall clock can't start a second attempt beside the first. */
  const hasRested = (row: ExpressionBuilder<Schema, 'messages'>) => {
    const { leaseClock } = storage.dialect;
    return row.or([
      row('attempt_started_ms', 'is', null),
      row('attempt_started_ms', '>', leaseClock),
      row('attempt_started_ms', '<=', row(leaseClock, '-', MINUTE_MS)),
    ]);
  };

  const isPending = (row: ExpressionBuilder<Schema, 'messages'>, of: ReadRow) =>
    row.and({ kind: of.kind, key: of.key, message_id: of.message_id, status: 'pending' });

  const marked = (db: QueryCreator<Schema>, of: ReadRow, end: Pick<MessageRow, 'status' | 'reply'>) =>
    db
      .updateTable('messages')
      .set({ ...end, sealed_secret: null })
      .where((row) => isPending(row, of));

  return {
    spent: prepareRead(storage, spent),

    nextDue: prepareRead(storage, (db, of: { now: string; priority: MessageRow['priority'] }) =>
      db
        .selectFrom('messages')
        .selectAll()
        .where('status', '=', storage.dialect.constant('pending'))
        .where('priority', '=', of.priority)
        .where('next_attempt_at', '<=', of.now)
        .where(hasRested)
        .orderBy('next_attempt_at')
        .limit(storage.dialect.constant(1)),
    ),

    /**
     * Claims a row. Has no effect if another worker claimed it first. The statement checks the limit per minute again.
     */
    claim: prepareChange(storage, (db, of: ReadRow & Lately & { next_attempt_at: string }) =>
      db
        .updateTable('messages')
        .set((row) => ({
          attempts: row('attempts', '+', 1),
          last_attempt_at: of.now,
          attempt_started_ms: storage.dialect.leaseClock,
          next_attempt_at: of.next_attempt_at,
        }))
        .where((row) => isPending(row, of))
        .where('attempts', '=', of.attempts)
        .where(hasRested)
        .where(spent(db, of), '<', perMinute),
    ),

    /** Marks a message that the server accepted as sent, even if another worker attempts it now. */
    markSent: prepareChange(storage, (db, of: ReadRow) => marked(db, of, { status: 'sent', reply: null })),

    /** Marks a message as failed permanently, which only the last attempt can do. */
    markDead: prepareChange(storage, (db, { reply, ...of }: ReadRow & Pick<MessageRow, 'reply'>) =>
      marked(db, of, { status: 'dead', reply }).where('attempts', '=', of.attempts),
    ),

    /** Deletes a row. Has no effect if another worker has attempted the row since it was read. */
    remove: prepareChange(storage, (db, of: ReadRow) =>
      db
        .deleteFrom('messages')
        .where((row) => isPending(row, of))
        .where('attempts', '=', of.attempts),
    ),

    /** Deletes old rows. Old `new` notices would prevent the deletion of their submissions (§19.6). */
    sweep: prepareChange(storage, (db, of: { capped_until: string }) =>
      db
        .deleteFrom('messages')
        .where('requested_at', '<=', of.capped_until)
        .where((row) =>
          row.or([
            row('status', '=', 'new'),
            row('status', 'in', ['sent', 'dead']).and('last_attempt_at', '<=', of.capped_until),
          ]),
        ),
    ),
  };
}

type OutboxRowsParts = {
  clock: Clock;
  newId: NewId;
  /** `MAIL_PER_MINUTE`. */
  perMinute: number;
  /** The part of each `Message-ID` after the `@`. */
  hostname: string;
  /** Called with each message that failed permanently because a crash interrupted its last attempt. */
  onFailed?: (row: MessageRow) => void;
};

/** Opens the rows of the outbox. The functions throw `StorageUnavailable`. */
export function openOutboxRows(storage: Storage, parts: OutboxRowsParts) {
  const { clock, newId, perMinute, hostname, onFailed } = parts;
  const queries = prepareOutboxQueries(storage, perMinute);
  const add = prepareCappedMessage(storage);
  const ago = (ms: number) => new Date(clock.now().getTime() - ms).toISOString();
  const lately = () => ({ now: ago(0), minute_ago: ago(MINUTE_MS), until: ago(-START_WITHIN_MS) });

  /**
   * Sets the final status, and the server's reply of a failed message. Returns 0 if the row is final already or belongs
   * to another attempt.
   */
  async function mark(row: MessageRow, status: 'sent' | 'dead', reply: string | null = null): Promise<number> {
    const { markSent, markDead } = queries;
    return await storage.write(status === 'sent' ? markSent(row) : markDead({ ...row, reply }));
  }

  async function nextDue(): Promise<MessageRow | undefined> {
    for (const priority of PRIORITIES) {
      const [due] = await storage.read(queries.nextDue({ now: ago(0), priority }));
      if (due !== undefined) return due;
    }
    return undefined;
  }

  return {
    mark,

    /**
     * Returns the change that queues a message, by default a confirmation. The change has no effect if the mailbox got
     * a message of the kind in the last 24 hours.
     */
    messageTo(address: string, kind: CappedKind = 'confirmation', about: string | null = null): Change {
      const message = { kind, about, mailbox: mailboxOf(address), address, message_id: `<${newId()}@${hostname}>` };
      return add({ ...message, capped_until: ago(CAP_MS), ...lately() });
    },

    /**
     * Claims the next due row and counts the attempt. Returns undefined if no row is due or the minute's limit is
     * reached.
     */
    async claim(): Promise<MessageRow | undefined> {
      for (;;) {
        const [spent] = await storage.read(queries.spent(lately()));
        if (Number(spent?.attempts) >= perMinute) return undefined;
        const due = await nextDue();
        if (due === undefined) return undefined;
        // The row is due after its last attempt, so the process died in that attempt.
        if (due.attempts >= ATTEMPTS) {
          if ((await mark(due, 'dead')) === 1) onFailed?.(due);
        } else {
          const next_attempt_at = ago(-(BACK_OFF_MS[due.attempts] ?? DAY_MS));
          const claimed = queries.claim({ ...due, next_attempt_at, ...lately() });
          if ((await storage.write(claimed)) === 1) return { ...due, attempts: due.attempts + 1 };
        }
      }
    },

    /** Deletes the row of an obsolete message. */
    remove: (row: MessageRow) => storage.write(queries.remove(row)),

    /** Deletes old rows. The row of a mailbox stays until its daily limit is over. */
    sweep: () => storage.write(queries.sweep({ capped_until: ago(CAP_MS) })),

    async depth(): Promise<{ pending: number; dead: number }> {
      const rows = await storage.read((db) =>
        db
          .selectFrom('messages')
          .select((row) => ['status', row.fn.countAll<number>().as('rows')])
          .where('status', 'in', ['new', 'pending', 'dead'])
          .groupBy('status'),
      );
      const of = (status: string) => Number(rows.find((row) => row.status === status)?.rows ?? 0);
      return { pending: of('new') + of('pending'), dead: of('dead') };
    },
  };
}
