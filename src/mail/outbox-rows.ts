/** The rows of the outbox: one a mailbox, taken by one conditional update (see `outbox.ts`). */
import type { ExpressionBuilder } from 'kysely';
import type { NewId } from '../chance.ts';
import type { Clock } from '../clock.ts';
import type { Storage } from '../storage/database.ts';
import type { OutboxRow, Schema } from '../storage/schema.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** A mailbox gets at most one confirmation in this time (contract §4, "`/api/subscribe`"). */
const CAP_MS = DAY_MS;

/** After the first attempt, the second, …; the seventh is the last. */
const SHORTEST_BACK_OFF_MS = MINUTE_MS;
const BACK_OFF_MS = [
  SHORTEST_BACK_OFF_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  6 * HOUR_MS,
  12 * HOUR_MS,
];

/** How many attempts a message gets before it is dead. */
export const ATTEMPTS = BACK_OFF_MS.length + 1;

export type Rows = {
  /** One upsert: nothing changes where the mailbox had its message in the last 24 hours. */
  add(address: string): Promise<void>;
  /** The next row that is due, with its attempt counted; undefined where none is, or none may be. */
  take(): Promise<OutboxRow | undefined>;
  /** What became of a row; nothing where it is final, or another's, already. */
  mark(row: OutboxRow, status: 'sent' | 'dead'): Promise<void>;
  /** Removes what nothing needs any more: an address is kept no longer than the cap it carries. */
  sweep(): Promise<void>;
  depth(): Promise<{ pending: number; dead: number }>;
};

/** Takes `MAIL_PER_MINUTE` and the host of the `Message-ID`s. Queries throw `StorageUnavailable`. */
export function openRows(
  storage: Storage,
  parts: { clock: Clock; newId: NewId; perMinute: number; hostname: string },
): Rows {
  const { clock, newId, perMinute, hostname } = parts;
  const ago = (ms: number) => new Date(clock.now().getTime() - ms).toISOString();

  /**
   * The attempts of the last minute. Their rows come due later than now, whatever became of them: by
   * that the index finds them.
   */
  const spent = () =>
    storage.db
      .selectFrom('outbox')
      .select((row) => row.fn.countAll<number>().as('attempts'))
      .where('status', 'in', ['pending', 'sent', 'dead'])
      .where('next_attempt_at', '>', ago(0))
      .where('last_attempt_at', '>', ago(MINUTE_MS))
      .where('last_attempt_at', '<=', ago(0));

  /** By the lease clock: a step of a wall clock can't bring what is under way a second time. */
  const restsAgain = (row: ExpressionBuilder<Schema, 'outbox'>) =>
    row.or([
      row('attempt_started_ms', 'is', null),
      row('attempt_started_ms', '>', storage.leaseClock),
      row('attempt_started_ms', '<=', row(storage.leaseClock, '-', SHORTEST_BACK_OFF_MS)),
    ]);

  const nextDue = () =>
    storage.db
      .selectFrom('outbox')
      .selectAll()
      .where('status', '=', 'pending')
      .where('next_attempt_at', '<=', ago(0))
      .where(restsAgain)
      .orderBy('next_attempt_at')
      .limit(1)
      .executeTakeFirst();

  /** Undefined where another worker was first. The budget is counted inside the statement again. */
  const count = (due: OutboxRow) =>
    storage.db
      .updateTable('outbox')
      .set({
        attempts: due.attempts + 1,
        last_attempt_at: ago(0),
        attempt_started_ms: storage.leaseClock,
        next_attempt_at: ago(-(BACK_OFF_MS[due.attempts] ?? DAY_MS)),
      })
      .where('mailbox', '=', due.mailbox)
      .where('message_id', '=', due.message_id)
      .where('attempts', '=', due.attempts)
      .where('status', '=', 'pending')
      .where(restsAgain)
      .where(spent(), '<', perMinute)
      .returningAll()
      .executeTakeFirst();

  async function mark(row: OutboxRow, status: 'sent' | 'dead'): Promise<void> {
    await storage.db
      .updateTable('outbox')
      .set({ status })
      .where('mailbox', '=', row.mailbox)
      .where('message_id', '=', row.message_id)
      .where('status', '=', 'pending')
      // What the server took is sent, whoever attempts it now; only the last attempt gives up.
      .$if(status === 'dead', (query) => query.where('attempts', '=', row.attempts))
      .execute();
  }

  return {
    mark,

    async add(address) {
      const now = ago(0);
      await storage.db
        .insertInto('outbox')
        .values({
          mailbox: mailboxOf(address),
          address,
          message_id: `<${newId()}@${hostname}>`,
          status: 'pending',
          requested_at: now,
          attempts: 0,
          next_attempt_at: now,
          last_attempt_at: null,
          attempt_started_ms: null,
        })
        .onConflict((conflict) =>
          conflict
            .column('mailbox')
            // Not `last_attempt_at`, by which the budget counts.
            .doUpdateSet((row) => ({
              address: row.ref('excluded.address'),
              message_id: row.ref('excluded.message_id'),
              status: row.ref('excluded.status'),
              requested_at: row.ref('excluded.requested_at'),
              attempts: row.ref('excluded.attempts'),
              next_attempt_at: row.ref('excluded.next_attempt_at'),
            }))
            .where('outbox.requested_at', '<=', ago(CAP_MS))
            // A retry may have arrived long after the request; of a dead one nothing arrived.
            .where((row) =>
              row.or([
                row('outbox.last_attempt_at', 'is', null),
                row('outbox.last_attempt_at', '<=', ago(CAP_MS)),
                row.and([
                  row('outbox.status', '=', 'dead'),
                  row('outbox.last_attempt_at', '<=', ago(MINUTE_MS)),
                ]),
              ]),
            ),
        )
        .execute();
    },

    async take() {
      for (;;) {
        const { attempts } = await spent().executeTakeFirstOrThrow();
        if (Number(attempts) >= perMinute) return undefined;
        const due = await nextDue();
        if (due === undefined) return undefined;
        // Due after its last attempt: the process died in it.
        if (due.attempts >= ATTEMPTS) await mark(due, 'dead');
        else {
          const taken = await count(due);
          if (taken !== undefined) return taken;
        }
      }
    },

    async sweep() {
      await storage.db
        .deleteFrom('outbox')
        .where('status', 'in', ['sent', 'dead'])
        .where('requested_at', '<=', ago(CAP_MS))
        .where('last_attempt_at', '<=', ago(CAP_MS))
        .execute();
    },

    async depth() {
      const rows = await storage.db
        .selectFrom('outbox')
        .select((row) => ['status', row.fn.countAll<number>().as('rows')])
        .where('status', 'in', ['pending', 'dead'])
        .groupBy('status')
        .execute();
      const of = (status: string) => Number(rows.find((row) => row.status === status)?.rows ?? 0);
      return { pending: of('pending'), dead: of('dead') };
    },
  };
}

/** The address without its plus-tag: the cap counts mailboxes (contract §4, "E-mail addresses"). */
export function mailboxOf(address: string): string {
  const at = address.lastIndexOf('@');
  return `${address.slice(0, at).replace(/\+.*$/s, '')}${address.slice(at)}`;
}
