/** The rows of the outbox: one a mailbox, taken by one conditional update (see `outbox.ts`). */
import type { NewId } from '../chance.ts';
import type { Clock } from '../clock.ts';
import type { Storage } from '../storage/database.ts';
import type { OutboxRow } from '../storage/schema.ts';
import { CAP_MS, mailboxOf, prepareCappedAdd } from './daily-cap.ts';
import { prepareOutboxQueries } from './outbox-queries.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

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
  const queries = prepareOutboxQueries(storage, perMinute, SHORTEST_BACK_OFF_MS);
  const add = prepareCappedAdd(storage);
  const ago = (ms: number) => new Date(clock.now().getTime() - ms).toISOString();
  const lately = () => ({ now: ago(0), minute_ago: ago(MINUTE_MS) });

  async function mark(row: OutboxRow, status: 'sent' | 'dead'): Promise<void> {
    await storage.write(status === 'sent' ? queries.markSent(row) : queries.markDead(row));
  }

  return {
    mark,

    async add(address) {
      const mailbox = mailboxOf(address);
      const message_id = `<${newId()}@${hostname}>`;
      const capped_until = ago(CAP_MS);
      await storage.write(add({ mailbox, address, message_id, capped_until, ...lately() }));
    },

    async take() {
      for (;;) {
        const [spent] = await storage.read(queries.spent(lately()));
        if (Number(spent?.attempts) >= perMinute) return undefined;
        const [due] = await storage.read(queries.nextDue({ now: ago(0) }));
        if (due === undefined) return undefined;
        // Due after its last attempt: the process died in it.
        if (due.attempts >= ATTEMPTS) await mark(due, 'dead');
        else {
          const next_attempt_at = ago(-(BACK_OFF_MS[due.attempts] ?? DAY_MS));
          const taken = queries.take({ ...due, next_attempt_at, ...lately() });
          if ((await storage.write(taken)) === 1) return { ...due, attempts: due.attempts + 1 };
        }
      }
    },

    async sweep() {
      await storage.write(queries.sweep({ capped_until: ago(CAP_MS) }));
    },

    async depth() {
      const rows = await storage.read((db) =>
        db
          .selectFrom('outbox')
          .select((row) => ['status', row.fn.countAll<number>().as('rows')])
          .where('status', 'in', ['pending', 'dead'])
          .groupBy('status'),
      );
      const of = (status: string) => Number(rows.find((row) => row.status === status)?.rows ?? 0);
      return { pending: of('pending'), dead: of('dead') };
    },
  };
}
