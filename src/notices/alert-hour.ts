/**
 * The hour of a kind of alert (beyond §2): one alert begins it, what comes within it is counted into one more at
 * its end if the fault lasts. The all-clear of a fault is said once its alert was sent. Pure: rows in, rows out.
 */
import type { AlertKind, MessageRow } from '../storage/schema.ts';
import { hasEnded } from './notice-hour.ts';

/** Those that end: the others are about something that has happened. */
const HAS_ALL_CLEAR: ReadonlySet<AlertKind> = new Set(['upstream', 'store', 'disk']);

/** What was seen of a kind since it was last told: an end, then faults, then another end. */
export type Seen = { endedFirst: boolean; times: number; endedLast: boolean };

export const nothingSeen: Seen = { endedFirst: false, times: 0, endedLast: false };

/** Takes what was seen before and what came then. Of an end between two faults nothing is told. */
export function seenThen(before: Seen, then: Seen): Seen {
  if (then.times > 0) {
    const times = before.times + then.times;
    const endedFirst = before.endedFirst || (before.times === 0 && then.endedFirst);
    return { endedFirst, times, endedLast: then.endedLast };
  }
  if (!then.endedFirst && !then.endedLast) return before;
  return before.times > 0 ? { ...before, endedLast: true } : { ...before, endedFirst: true };
}

export type AlertHour = {
  kind: AlertKind;
  began_at: string | null;
  /** How often it came since the last alert. */
  times: number;
  lasts: boolean;
  /** The alert whose all-clear is not said yet. */
  alert_key: string | null;
};

/** `since`: of an hour's rest, when that hour began. */
export type About = { kind: AlertKind; times: number; over: boolean; since?: string };

export type Told = { hour: AlertHour; messages: { key: string; about: About }[] };

/** Whether anything is to be done about it. */
export function isDue(hour: AlertHour, seen: Seen, now: Date): boolean {
  const isOver = !hour.lasts && hour.alert_key !== null;
  const endsNow = hour.lasts && seen.endedFirst;
  const hourIsOver = hour.began_at !== null && hasEnded(hour.began_at, now);
  return isOver || endsNow || hourIsOver || seen.times > 0;
}

/** Takes the hour, what was seen, and the status of the alert that it names, undefined where that is swept. */
export function tell(
  before: AlertHour,
  seen: Seen,
  now: Date,
  alertStatus: MessageRow['status'] | undefined,
): Told {
  const { kind } = before;
  const hasAllClear = HAS_ALL_CLEAR.has(kind);
  const told: Told = { hour: { ...before }, messages: [] };
  const { hour, messages } = told;

  function alert(times: number, since?: string): void {
    const key = `${kind} ${now.toISOString()}`;
    messages.push({
      key,
      about: { kind, times, over: false, ...(since !== undefined && { since }) },
    });
    hour.began_at = now.toISOString();
    hour.times = 0;
    if (hasAllClear) hour.alert_key = key;
  }
  function end(): void {
    hour.lasts = false;
    hour.times = 0;
  }

  if (hour.began_at !== null && hasEnded(hour.began_at, now)) {
    const { began_at, times } = hour;
    hour.began_at = null;
    hour.times = 0;
    if (times > 0 && (hour.lasts || !hasAllClear)) alert(times, began_at);
  }
  if (seen.endedFirst) end();
  if (seen.times > 0) {
    hour.lasts = true;
    if (hour.began_at === null) alert(seen.times);
    else hour.times += seen.times;
  }
  if (seen.endedLast) end();

  // While the alert waits for the mail server its all-clear would come first.
  const isTold = hour.alert_key === before.alert_key && alertStatus !== 'pending';
  if (!hour.lasts && hour.alert_key !== null && isTold) {
    const about = { kind, times: 0, over: true };
    if (alertStatus !== 'dead') messages.push({ key: `${hour.alert_key} over`, about });
    hour.alert_key = null;
  }
  return told;
}
