/**
 * Alerts: e-mails about faults (reference §11.6, `ALERT_EMAIL`). The process counts faults in memory and queues alerts
 * every five seconds. The lock on the hour prevents a second alert by another instance (`throttle.ts`). While the
 * database is unavailable, the process continues to count. A killed process loses its counts, but no rows of
 * submissions or messages.
 */

import { reasonOf } from '../mail/mail.ts';
import { prepareMessage } from '../mail/messages.ts';
import type { Clock } from '../platform/clock.ts';
import { type Job, openJob } from '../platform/jobs.ts';
import type { Log } from '../platform/log.ts';
import type { NewId } from '../platform/random.ts';
import type { OpenTransaction, Storage } from '../storage/database.ts';
import type { MailHourRow } from '../storage/operation-schema.ts';
import { prepareRead } from '../storage/queries.ts';
import type { CompletedAttempt } from '../submissions/lead-store.ts';
import { countExpiring } from '../submissions/read/statistics.ts';
import { type AlertKind, alertKinds, UNSTORED } from './alert-kinds.ts';
import { type DiskSpace, openDiskProbe, openStoreProbe, type ProbeResult } from './probes.ts';
import { changeHour, hourOf, isDue, nextAlertState, nothingObserved, type Observed, observedThen } from './throttle.ts';

const TICK_MS = 5_000;
const DISK_EVERY_MS = 60_000;
const EXPIRING_EVERY_MS = 3_600_000;

/**
 * `run` probes disk and database and queues the due alerts. `close` queues the alerts for faults that were counted since
 * the last `run`.
 */
export type Alerts = Pick<Job, 'run' | 'start' | 'close'> & {
  /** Counts a fault, under a detail of its kind (`alert-kinds.ts`). */
  raise(kind: AlertKind, detail?: string): void;
  /** Ends a fault: the all-clear is due. */
  resolve(kind: AlertKind): void;
  /** Counts or ends faults according to the result of a submission's attempt. */
  attemptCompleted(completed: Pick<CompletedAttempt, 'by' | 'outcome' | 'next' | 'unstored'>): void;
};

/** Used if `ALERT_EMAIL` is not set. */
export const noAlerts: Alerts = {
  raise: () => {},
  resolve: () => {},
  attemptCompleted: () => {},
  run: async () => {},
  start: () => {},
  close: async () => {},
};

type AlertParts = {
  storage: Storage;
  clock: Clock;
  newId: NewId;
  log: Log;
  /** The part of each `Message-ID` after the `@`. */
  hostname: string;
  /** Measures the disk of `DATA_DIR`. */
  diskSpace: () => Promise<DiskSpace | undefined>;
};

/** Opens the alerts. The alerts do nothing before `run` or `start`. */
export function openAlerts(parts: AlertParts): Alerts {
  const { storage, clock, newId, log, hostname } = parts;
  const add = prepareMessage(storage);
  const allHours = prepareRead(storage, (db) => db.selectFrom('mail_hours').selectAll().where('kind', '<>', 'notice'));
  const probeDisk = openDiskProbe(parts.diskSpace);
  const store = openStoreProbe(storage, clock);
  let observed = new Map<AlertKind, Observed>();
  let diskAt = Number.NEGATIVE_INFINITY;
  let expiringAt = Number.NEGATIVE_INFINITY;

  function observe(kind: AlertKind, then: Partial<Observed>): void {
    observed.set(kind, observedThen(observed.get(kind) ?? nothingObserved, { ...nothingObserved, ...then }));
  }
  const raise = (kind: AlertKind, detail = '') => observe(kind, { counted: { [detail]: 1 } });
  const resolve = (kind: AlertKind) => observe(kind, { endedFirst: true });
  function observeProbe(kind: AlertKind, result: ProbeResult): void {
    if (result === 'fault') raise(kind);
    if (result === 'end') resolve(kind);
  }

  /** Queues the due alerts of one kind. Returns false if another instance has locked its hour. */
  function queueDue(tx: OpenTransaction, kind: AlertKind, counted: Observed): Promise<boolean> {
    return changeHour(storage, tx, kind, async (before) => {
      const alerts = tx.selectFrom('messages').select('status').where('kind', '=', 'alert');
      const [alert] = await alerts.where('key', '=', before.alert_key ?? '').execute();
      const now = clock.now();
      const { hour, messages } = nextAlertState(kind, before, counted, now, alert?.status);
      for (const { key, about } of messages) {
        await tx.change(
          add({
            kind: 'alert',
            key,
            about: JSON.stringify(about),
            message_id: `<${newId()}@${hostname}>`,
            status: 'pending',
            now: now.toISOString(),
          }),
        );
      }
      return hour;
    });
  }

  /** Alerts once about each expiring submission. A check begins where the previous check of any instance ended. */
  async function checkExpiring(rows: readonly MailHourRow[]): Promise<void> {
    if (clock.monotonic() - expiringAt < EXPIRING_EVERY_MS) return;
    const after = rows.find(({ kind }) => kind === 'expiring')?.looked_until_ms ?? null;
    const { count, untilMs } = await countExpiring(storage, after);
    const isDone = await storage.write(async (tx) => {
      const moved = await tx
        .updateTable('mail_hours')
        .set({ looked_until_ms: untilMs })
        .where('kind', '=', 'expiring')
        .where('looked_until_ms', after === null ? 'is' : '=', after)
        .executeTakeFirst();
      // The update above locks the hour, so no other instance has locked it.
      if (moved.numUpdatedRows === 0n || count === 0) return true;
      return await queueDue(tx, 'expiring', { ...nothingObserved, counted: { '': count } });
    });
    if (isDone) expiringAt = clock.monotonic();
  }

  async function queueAllDue(): Promise<void> {
    const rows = await storage.read(allHours({}));
    await checkExpiring(rows);
    const unqueued = observed;
    observed = new Map();
    try {
      for (const kind of alertKinds) {
        const hour = hourOf(rows.find((row) => row.kind === kind));
        const counted = unqueued.get(kind) ?? nothingObserved;
        const isDone = !isDue(hour, counted, clock.now()) || (await storage.write((tx) => queueDue(tx, kind, counted)));
        if (isDone) unqueued.delete(kind);
      }
    } finally {
      // After a failure, the older observations come before the observations that were made meanwhile.
      for (const [kind, before] of unqueued) {
        observed.set(kind, observedThen(before, observed.get(kind) ?? nothingObserved));
      }
    }
  }

  const { run, start, close } = openJob({
    clock,
    everyMs: TICK_MS,
    async work() {
      const result = await store.probe();
      if (result === 'unavailable') return;
      observeProbe('store', result);
      if (clock.monotonic() - diskAt >= DISK_EVERY_MS) {
        diskAt = clock.monotonic();
        observeProbe('disk', await probeDisk());
      }
      await queueAllDue();
    },
    failed: (error) => log.error({ reason: reasonOf(error) }, 'alerts could not be written'),
    runsAtClose: true,
  });

  return {
    raise,
    resolve,
    attemptCompleted({ by, outcome, next, unstored }) {
      if (unstored) store.wasUnavailable();
      if (outcome.kind === 'confirmed') resolve('upstream');
      else if (by === 'first') raise('upstream', unstored ? UNSTORED : undefined);
      else if (next.kind === 'undelivered') raise('given_up');
    },
    run,
    start,
    close,
  };
}
