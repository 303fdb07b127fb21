/** The rows of the outbox, taken by one conditional update (see `outbox.ts`). */
import type { NewId } from '../chance.ts';
import type { Clock } from '../clock.ts';
import type { Change, Storage } from '../storage/database.ts';
import type { MessageRow } from '../storage/schema.ts';
import { CAP_MS, mailboxOf, prepareCappedAdd } from './daily-cap.ts';
import { PRIORITIES } from './messages.ts';
import { adoptOlder } from './older-outbox.ts';
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
  /** Keeps a confirmation, by one upsert: nothing changes where the mailbox had its message in the last 24 hours. */
  messageTo(address: string): Change;
  /** The next row that is due, with its attempt counted; undefined where none is, or none may be. */
  take(): Promise<MessageRow | undefined>;
  /** What became of a row; 0 where it is final, or another's, already. */
  mark(row: MessageRow, status: 'sent' | 'dead'): Promise<number>;
  /** There is nothing to say any more. */
  remove(row: MessageRow): Promise<void>;
  /**
   * Removes what nothing needs any more: an address is kept no longer than the cap it carries. Takes over what
   * an instance of the version before has left.
   */
  sweep(): Promise<void>;
  depth(): Promise<{ pending: number; dead: number }>;
};

/** Takes `MAIL_PER_MINUTE` and the host of the `Message-ID`s. Queries throw `StorageUnavailable`. */
export function openRows(
  storage: Storage,
  parts: {
    clock: Clock;
    newId: NewId;
    perMinute: number;
    hostname: string;
    /** Told of each message that was in flight at a crash for the last time. */
    died?: (row: MessageRow) => void;
  },
): Rows {
  const { clock, newId, perMinute, hostname, died = () => {} } = parts;
  const queries = prepareOutboxQueries(storage, perMinute, SHORTEST_BACK_OFF_MS);
  const add = prepareCappedAdd(storage);
  const ago = (ms: number) => new Date(clock.now().getTime() - ms).toISOString();
  const lately = () => ({ now: ago(0), minute_ago: ago(MINUTE_MS) });

  function messageTo(address: string): Change {
    const mailbox = mailboxOf(address);
    const message_id = `<${newId()}@${hostname}>`;
    return add({ mailbox, address, message_id, capped_until: ago(CAP_MS), ...lately() });
  }

  /** What names the row as it was read: whoever runs a query names the same parameters every time. */
  const seen = ({ kind, key, message_id, attempts }: MessageRow) => {
    return { kind, key, message_id, attempts };
  };

  async function mark(row: MessageRow, status: 'sent' | 'dead'): Promise<number> {
    const { markSent, markDead } = queries;
    return await storage.write((status === 'sent' ? markSent : markDead)(seen(row)));
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
    messageTo,

    async take() {
      for (;;) {
        const [spent] = await storage.read(queries.spent(lately()));
        if (Number(spent?.attempts) >= perMinute) return undefined;
        const due = await nextDue();
        if (due === undefined) return undefined;
        // Due after its last attempt: the process died in it.
        if (due.attempts >= ATTEMPTS) {
          if ((await mark(due, 'dead')) === 1) died(due);
        } else {
          const next_attempt_at = ago(-(BACK_OFF_MS[due.attempts] ?? DAY_MS));
          const taken = queries.take({ ...seen(due), next_attempt_at, ...lately() });
          if ((await storage.write(taken)) === 1) return { ...due, attempts: due.attempts + 1 };
        }
      }
    },

    async remove(row) {
      await storage.write(queries.remove(seen(row)));
    },

    async sweep() {
      await adoptOlder(storage, SHORTEST_BACK_OFF_MS);
      await storage.write(queries.sweep({ capped_until: ago(CAP_MS) }));
      await storage.write(queries.sweepNew({ capped_until: ago(CAP_MS) }));
    },

    async depth() {
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
