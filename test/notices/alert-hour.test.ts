/** The hour of a kind of alert, step by step (beyond §2, `ALERT_EMAIL`). */
import { expect, test } from 'vitest';
import {
  type AlertHour,
  isDue,
  nothingSeen,
  type Seen,
  seenThen,
  tell,
} from '../../src/notices/alert-hour.ts';
import type { AlertKind, MessageRow } from '../../src/storage/schema.ts';

const START = Date.parse('2026-09-01T12:00:00.000Z');
const MINUTE = 60_000;
const at = (minute: number) => new Date(START + minute * MINUTE);
const came = (times: number): Seen => ({ ...nothingSeen, times });
const ended: Seen = { ...nothingSeen, endedFirst: true };

/** An hour that goes on from step to step, and what each step told: a number, or the all-clear. */
function telling(kind: AlertKind) {
  let hour: AlertHour = { kind, began_at: null, times: 0, lasts: false, alert_key: null };
  return (minute: number, seen: Seen, alert: MessageRow['status'] | undefined = 'sent') => {
    if (!isDue(hour, seen, at(minute))) return [];
    const told = tell(hour, seen, at(minute), alert);
    hour = told.hour;
    return told.messages.map(({ about }) => (about.over ? 'over' : about.times));
  };
}

test('the first is told at once, what comes within the hour is counted into one more at its end', () => {
  const step = telling('upstream');
  expect(step(0, came(2))).toEqual([2]);
  expect(step(1, came(3))).toEqual([]);
  expect(step(59, came(4))).toEqual([]);
  expect(step(60, nothingSeen)).toEqual([7]);
  expect(step(61, came(1))).toEqual([]);
  expect(step(120, came(1))).toEqual([1]);
  expect(step(180, nothingSeen)).toEqual([1]);
  // Nothing came: nothing is told, and the next one begins an hour.
  expect(step(240, nothingSeen)).toEqual([]);
  expect(step(250, came(1))).toEqual([1]);
});

test('an end is told once, after its alert, and what was counted goes with it', () => {
  const step = telling('upstream');
  expect(step(0, came(1))).toEqual([1]);
  expect(step(1, came(5))).toEqual([]);
  expect(step(2, ended)).toEqual(['over']);
  expect(step(3, ended)).toEqual([]);
  expect(step(60, nothingSeen)).toEqual([]);
});

test('what comes back within its hour is told at the end of it, if it lasts', () => {
  const lasting = telling('upstream');
  expect(lasting(0, came(1))).toEqual([1]);
  expect(lasting(2, ended)).toEqual(['over']);
  expect(lasting(3, came(2))).toEqual([]);
  expect(lasting(60, nothingSeen)).toEqual([2]);
  expect(lasting(61, ended)).toEqual(['over']);

  const passing = telling('upstream');
  expect(passing(0, came(1))).toEqual([1]);
  expect(passing(2, ended)).toEqual(['over']);
  expect(passing(3, came(2))).toEqual([]);
  // No alert was sent of this one: no all-clear either.
  expect(passing(4, ended)).toEqual([]);
  expect(passing(60, nothingSeen)).toEqual([]);
});

test('an all-clear waits until its alert was sent, and is not said of one that is dead', () => {
  const waiting = telling('disk');
  expect(waiting(0, came(1))).toEqual([1]);
  expect(waiting(1, ended, 'pending')).toEqual([]);
  expect(waiting(2, nothingSeen, 'pending')).toEqual([]);
  expect(waiting(3, nothingSeen, 'sent')).toEqual(['over']);
  expect(waiting(4, nothingSeen, 'sent')).toEqual([]);

  const dead = telling('disk');
  expect(dead(0, came(1))).toEqual([1]);
  expect(dead(1, ended, 'dead')).toEqual([]);
  expect(dead(2, nothingSeen, 'sent')).toEqual([]);
});

test('a fault that has ended by the time it is told has its alert, and its all-clear afterwards', () => {
  const step = telling('store');
  expect(step(0, seenThen(came(1), ended), undefined)).toEqual([1]);
  expect(step(1, nothingSeen, 'sent')).toEqual(['over']);
});

test.each(['given_up', 'dead_message', 'expiring'] as const)(
  '%s has no all-clear, and its rest is told at the end of the hour',
  (kind) => {
    const step = telling(kind);
    expect(step(0, came(1))).toEqual([1]);
    expect(step(1, came(2))).toEqual([]);
    expect(step(60, nothingSeen)).toEqual([2]);
    expect(step(120, nothingSeen)).toEqual([]);
    expect(step(130, came(3))).toEqual([3]);
  },
);

test('an hour that a wall clock far ahead has begun keeps nobody silent', () => {
  const step = telling('given_up');
  expect(step(5 * 365 * 24 * 60, came(1))).toEqual([1]);
  expect(step(0, came(2))).toEqual([2]);
  // Instances are a little apart: that ends no hour.
  expect(step(-1, came(1))).toEqual([]);
});

test('an end between two faults is none, one before or behind them is', () => {
  const order = (...all: Seen[]) => all.reduce(seenThen, nothingSeen);
  expect(order(came(1), ended, came(2))).toEqual({ ...nothingSeen, times: 3 });
  expect(order(ended, came(1), ended)).toEqual({ endedFirst: true, times: 1, endedLast: true });
  expect(order(ended, ended)).toEqual(ended);
  expect(order(came(1), nothingSeen)).toEqual(came(1));
  // What could not be told goes in front of what came since.
  expect(seenThen(order(came(1), ended), order(ended, came(2)))).toEqual(came(3));
});
