/**
 * Alerts by mail of faults (beyond §2, `ALERT_EMAIL`). What happens is counted in memory and told every five
 * seconds: a row for each kind says whether its hour runs, so that of several instances one at a time tells, and
 * none a second time. While the store is away it is counted on; a process that is killed forgets what it has not
 * told, and the rows of what it was about stay.
 */
import type { NewId } from '../chance.ts';
import { type Clock, every } from '../clock.ts';
import { reasonOf } from '../mail/mail.ts';
import { prepareMessage } from '../mail/messages.ts';
import type { Log } from '../operations/log.ts';
import type { OpenTransaction, Storage } from '../storage/database.ts';
import { prepareRead } from '../storage/prepare-query.ts';
import type { AlertKind, MailHourRow, MessageKind } from '../storage/schema.ts';
import { type AlertHour, isDue, nothingSeen, type Seen, seenThen, tell } from './alert-hour.ts';
import { type Look, openDiskLook, openStoreLook, type Room } from './watched.ts';

const TICK_MS = 5_000;
const DISK_EVERY_MS = 60_000;
const EXPIRING_EVERY_MS = 3_600_000;

export type Alerts = {
  /** A browser's first attempt was not confirmed: the first ever and rejected ones included. */
  firstAttemptFailed(): void;
  /** Any attempt of any row was confirmed. */
  attemptConfirmed(): void;
  /** Nothing more happens to a submission by itself. */
  givenUp(): void;
  /** A message is dead; an alert's own death is none. */
  messageDied(kind: MessageKind): void;
  /** A person did not ask for what an agent wanted to send (beyond §4). */
  reported(): void;
  /** Looks at what is watched, and tells what is to be told; a fault is logged, and the next time tries again. */
  work(): Promise<void>;
  /** Works every five seconds from the next ones on, until `close`. */
  start(): void;
  /** Waits for the work under way, and tells what was counted since. */
  close(): Promise<void>;
};

/** Where `ALERT_EMAIL` is not set. */
export const noAlerts: Alerts = {
  firstAttemptFailed: () => {},
  attemptConfirmed: () => {},
  givenUp: () => {},
  messageDied: () => {},
  reported: () => {},
  work: async () => {},
  start: () => {},
  close: async () => {},
};

export type AlertParts = {
  storage: Storage;
  clock: Clock;
  newId: NewId;
  log: Log;
  /** The right side of each `Message-ID`. */
  hostname: string;
  /** Of the disk of `DATA_DIR`. */
  room: () => Promise<Room>;
  /** How much kept content has entered its last week after a moment, and up to which that was looked at. */
  expiring: (afterMs: number | null) => Promise<{ count: number; untilMs: number }>;
};

/** Does nothing before `work` or `start`. */
export function openAlerts(parts: AlertParts): Alerts {
  const { storage, clock, newId, log, hostname, expiring } = parts;
  const add = prepareMessage(storage);
  const allHours = prepareRead(storage, (db) =>
    db.selectFrom('mail_hours').selectAll().where('kind', '<>', 'notice'),
  );
  const lookAtDisk = openDiskLook(parts.room);
  const lookAtStore = openStoreLook(storage, clock);
  let seen = new Map<AlertKind, Seen>();
  let diskAt = Number.NEGATIVE_INFINITY;
  let expiringAt = Number.NEGATIVE_INFINITY;
  let stop = () => {};
  let working: Promise<void> | undefined;
  let failing = false;

  function note(kind: AlertKind, then: Seen): void {
    seen.set(kind, seenThen(seen.get(kind) ?? nothingSeen, then));
  }
  const came = (kind: AlertKind, times = 1) => note(kind, { ...nothingSeen, times });
  const ended = (kind: AlertKind) => note(kind, { ...nothingSeen, endedFirst: true });
  function noteLook(kind: AlertKind, look: Look): void {
    if (look === 'fault') came(kind);
    if (look === 'end') ended(kind);
  }

  /** What is counted, of one kind, within the transaction that has its hour; false: another instance is at it. */
  async function settle(tx: OpenTransaction, kind: AlertKind, counted: Seen): Promise<boolean> {
    const { skipLocked } = storage.dialect;
    const rows = tx.selectFrom('mail_hours').selectAll().where('kind', '=', kind);
    const [row] = await rows.$call(skipLocked).execute();
    if (row === undefined) return false;
    const alerts = tx.selectFrom('messages').select('status').where('kind', '=', 'alert');
    const [alert] = await alerts.where('key', '=', row.alert_key ?? '').execute();
    const { hour, messages } = tell(hourOf(row, kind), counted, clock.now(), alert?.status);
    for (const { key, about } of messages) {
      await tx.change(
        add({
          kind: 'alert',
          key,
          about: JSON.stringify(about),
          message_id: `<${newId()}@${hostname}>`,
          status: 'pending',
          now: clock.now().toISOString(),
        }),
      );
    }
    await tx
      .updateTable('mail_hours')
      .set({
        began_at: hour.began_at,
        counted: JSON.stringify({ times: hour.times }),
        lasts: hour.lasts ? 1 : 0,
        alert_key: hour.alert_key,
      })
      .where('kind', '=', kind)
      .execute();
    return true;
  }

  /** Each is told once: the moment up to which one instance looked is where the next one begins. */
  async function lookForExpiring(rows: readonly MailHourRow[]): Promise<void> {
    if (clock.monotonic() - expiringAt < EXPIRING_EVERY_MS) return;
    const after = rows.find(({ kind }) => kind === 'expiring')?.looked_until_ms ?? null;
    const { count, untilMs } = await expiring(after);
    const isOurs = await storage.write(async (tx) => {
      const moved = await tx
        .updateTable('mail_hours')
        .set({ looked_until_ms: untilMs })
        .where('kind', '=', 'expiring')
        .where('looked_until_ms', after === null ? 'is' : '=', after)
        .executeTakeFirst();
      return moved.numUpdatedRows > 0n && count > 0
        ? await settle(tx, 'expiring', { ...nothingSeen, times: count })
        : true;
    });
    // The hour's row is locked by that update: it is ours or nobody's.
    if (isOurs) expiringAt = clock.monotonic();
  }

  async function tellAll(): Promise<void> {
    const rows = await storage.read(allHours({}));
    await lookForExpiring(rows);
    const taken = seen;
    seen = new Map();
    try {
      for (const row of rows) {
        const kind = row.kind as AlertKind;
        const counted = taken.get(kind) ?? nothingSeen;
        const isTold =
          !isDue(hourOf(row, kind), counted, clock.now()) ||
          (await storage.write((tx) => settle(tx, kind, counted)));
        if (isTold) taken.delete(kind);
      }
    } finally {
      // What was not told, before what has come meanwhile.
      for (const [kind, before] of taken) {
        seen.set(kind, seenThen(before, seen.get(kind) ?? nothingSeen));
      }
    }
  }

  async function look(): Promise<void> {
    const store = await lookAtStore();
    if (store === 'away') return;
    noteLook('store', store);
    if (clock.monotonic() - diskAt >= DISK_EVERY_MS) {
      diskAt = clock.monotonic();
      noteLook('disk', await lookAtDisk());
    }
    await tellAll();
  }

  /** Says once that it can't work, however often it tries until it can. */
  async function lookAloud(): Promise<void> {
    try {
      await look();
      failing = false;
    } catch (error) {
      if (!failing) log.error({ reason: reasonOf(error) }, 'alerts could not be written');
      failing = true;
    }
  }

  async function work(): Promise<void> {
    working ??= lookAloud().finally(() => {
      working = undefined;
    });
    await working;
  }

  return {
    firstAttemptFailed: () => came('upstream'),
    attemptConfirmed: () => ended('upstream'),
    givenUp: () => came('given_up'),
    messageDied: (kind) => {
      if (kind !== 'alert') came('dead_message');
    },
    reported: () => came('reported'),
    work,
    start() {
      stop = every(clock, TICK_MS, () => void work());
    },
    async close() {
      stop();
      await working;
      await work();
    },
  };
}

function hourOf(row: MailHourRow, kind: AlertKind): AlertHour {
  const { times = 0 } = JSON.parse(row.counted) as { times?: number };
  return { kind, began_at: row.began_at, times, lasts: row.lasts === 1, alert_key: row.alert_key };
}
