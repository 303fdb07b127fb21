/**
 * Limits e-mails to the operator (reference §11.6). An hour begins with its first message. An hour allows twenty
 * notices, or one alert of a kind. Further notices and faults are counted. At the end of the hour one message reports
 * them: a summary of the notices, or another alert if the fault lasts. The hour is a row that an instance locks, so all
 * instances share the limit.
 */
import type { OpenTransaction, Storage } from '../storage/database.ts';
import type { MailHourRow, MessageRow } from '../storage/operation-schema.ts';
import { type AlertEvent, type AlertKind, type Counted, hasAllClear, totalOf } from './alert-kinds.ts';

const NOTICES_AN_HOUR = 20;
const ALERTS_AN_HOUR = 1;
const HOUR_MS = 3_600_000;

/** Returns the sum of two counts. A client's name can be the name of a property that every object has. */
function plus(one: Counted, other: Counted): Counted {
  const sum = new Map(Object.entries(one));
  for (const [detail, times] of Object.entries(other)) sum.set(detail, (sum.get(detail) ?? 0) + times);
  return Object.fromEntries(sum);
}

export type Hour = {
  /** Beginning of the hour in ISO 8601. Null if no hour runs. */
  began_at: string | null;
  /** Number of messages sent in this hour. */
  sent: number;
  /** Number of notices by form, or of faults by detail. */
  counted: Counted;
  /** True while the fault of an alert lasts. */
  lasts: boolean;
  /** Key of the alert whose all-clear is not sent yet. */
  alert_key: string | null;
};

/** Reads the row of an hour. Without a row, no hour runs. */
export function hourOf(row: MailHourRow | undefined): Hour {
  if (row === undefined) return { began_at: null, sent: 0, counted: {}, lasts: false, alert_key: null };
  const { began_at, sent, counted, lasts, alert_key } = row;
  return { began_at, sent, counted: JSON.parse(counted), lasts: lasts === 1, alert_key };
}

/** Locks the hour of a kind until the commit and changes it. Returns false if another instance has locked it. */
export async function changeHour(
  { dialect }: Pick<Storage, 'dialect'>,
  tx: OpenTransaction,
  kind: MailHourRow['kind'],
  change: (hour: Hour) => Promise<Hour>,
): Promise<boolean> {
  // The database may be older than the kind.
  const none = { kind, sent: 0, counted: '{}', lasts: 0 } as const;
  const insert = tx.insertInto('mail_hours').values(none);
  await insert.onConflict((conflict) => conflict.doNothing()).execute();
  const rows = tx.selectFrom('mail_hours').selectAll().where('kind', '=', kind);
  const [row] = await rows.$call(dialect.skipLocked).execute();
  if (row === undefined) return false;
  const { counted, lasts, ...rest } = await change(hourOf(row));
  await tx
    .updateTable('mail_hours')
    .set({ ...rest, counted: JSON.stringify(counted), lasts: lasts ? 1 : 0 })
    .where('kind', '=', kind)
    .execute();
  return true;
}

/**
 * Returns true if the hour is over. An hour that begins an hour or more in the future comes from a wrong clock and
 * counts as over.
 */
export function hasEnded(began_at: string | null, now: Date): boolean {
  return began_at !== null && Math.abs(now.getTime() - Date.parse(began_at)) >= HOUR_MS;
}

/** Ends the hour if it is over. Returns the beginning and the counts of the ended hour, or undefined. */
function endHour(hour: Hour, by: Date): { began_at: string; counted: Counted } | undefined {
  const { began_at, counted } = hour;
  if (began_at === null || !hasEnded(began_at, by)) return undefined;
  Object.assign(hour, { began_at: null, sent: 0, counted: {} });
  return { began_at, counted };
}

/** Returns true if the hour allows another message. Otherwise counts the message's notice or faults. */
function allows(hour: Hour, limit: number, at: string, counted: Counted): boolean {
  hour.began_at ??= at;
  if (hour.sent < limit) {
    hour.sent += 1;
    return true;
  }
  hour.counted = plus(hour.counted, counted);
  return false;
}

/** A notice that is neither sent nor counted yet. */
type NewNotice = { key: string; form: string; requested_at: string };

/**
 * Divides notices, oldest first, into the keys to send and the keys to count. `isAll` is true if no other notices are
 * waiting.
 */
export function throttleNotices(before: Hour, notices: readonly NewNotice[], now: Date, isAll: boolean) {
  const hour = { ...before };
  const send: string[] = [];
  const count: string[] = [];
  /** Ended hours in which some notices were counted instead of sent. */
  const summaries: { began_at: string; counted: Counted }[] = [];
  function end(by: Date): void {
    const ended = endHour(hour, by);
    if (ended !== undefined && Object.keys(ended.counted).length > 0) summaries.push(ended);
  }
  for (const { key, form, requested_at } of notices) {
    end(new Date(requested_at));
    (allows(hour, NOTICES_AN_HOUR, requested_at, { [form]: 1 }) ? send : count).push(key);
  }
  if (isAll) end(now);
  return { hour, send, count, summaries };
}

/** Events of one kind of fault since the last check, in this order: an end, the counted faults, another end. */
export type Observed = { endedFirst: boolean; counted: Counted; endedLast: boolean };

export const nothingObserved: Observed = { endedFirst: false, counted: {}, endedLast: false };

/** Joins two observations in their order. An end between two faults is dropped. */
export function observedThen(before: Observed, then: Observed): Observed {
  const hadFaults = totalOf(before.counted) > 0;
  if (totalOf(then.counted) > 0) {
    const endedFirst = before.endedFirst || (!hadFaults && then.endedFirst);
    return { endedFirst, counted: plus(before.counted, then.counted), endedLast: then.endedLast };
  }
  if (!then.endedFirst && !then.endedLast) return before;
  return hadFaults ? { ...before, endedLast: true } : { ...before, endedFirst: true };
}

/** Returns true if an alert or an all-clear is due, or the hour ends. */
export function isDue(hour: Hour, observed: Observed, now: Date): boolean {
  const isOver = !hour.lasts && hour.alert_key !== null;
  const endsNow = hour.lasts && observed.endedFirst;
  return isOver || endsNow || hasEnded(hour.began_at, now) || totalOf(observed.counted) > 0;
}

/**
 * Returns the next state of an hour and the alerts to send. `alertStatus` is the status of the alert that the hour
 * names, or undefined if this alert is deleted. The all-clear follows once the alert was sent.
 */
export function nextAlertState(
  kind: AlertKind,
  before: Hour,
  observed: Observed,
  now: Date,
  alertStatus: MessageRow['status'] | undefined,
): { hour: Hour; messages: { key: string; about: AlertEvent }[] } {
  const hour = { ...before };
  const messages: { key: string; about: AlertEvent }[] = [];
  const at = now.toISOString();

  function alert(counted: Counted, since?: string): void {
    if (!allows(hour, ALERTS_AN_HOUR, at, counted)) return;
    const key = `${kind} ${at}`;
    messages.push({ key, about: { kind, counted, over: false, ...(since !== undefined && { since }) } });
    if (hasAllClear(kind)) hour.alert_key = key;
  }
  const end = () => Object.assign(hour, { lasts: false, counted: {} });

  const ended = endHour(hour, now);
  const others = ended?.counted ?? {};
  if (totalOf(others) > 0 && hour.lasts) alert(others, ended?.began_at);
  if (observed.endedFirst) end();
  if (totalOf(observed.counted) > 0) {
    hour.lasts = true;
    alert(observed.counted);
  }
  if (observed.endedLast) end();

  // While the alert waits for the mail server, its all-clear would arrive first.
  const wasSent = hour.alert_key === before.alert_key && alertStatus !== 'pending';
  if (!hour.lasts && hour.alert_key !== null && wasSent) {
    const about = { kind, counted: {}, over: true, since: hour.alert_key.slice(`${kind} `.length) };
    if (alertStatus !== 'dead') messages.push({ key: `${hour.alert_key} over`, about });
    hour.alert_key = null;
  }
  return { hour, messages };
}
