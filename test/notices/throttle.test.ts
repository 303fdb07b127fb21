/** The hourly limit of each kind of alert, step by step (reference §11.6, `ALERT_EMAIL`). */
import { expect, test } from 'vitest';
import { type AlertKind, totalOf } from '../../src/notices/alert-kinds.ts';
import {
  type Hour,
  hourOf,
  isDue,
  nextAlertState,
  nothingObserved,
  type Observed,
  observedThen,
  throttleNotices,
} from '../../src/notices/throttle.ts';
import type { MessageRow } from '../../src/storage/operation-schema.ts';

const START = Date.parse('2026-09-01T12:00:00.000Z');
const MINUTE = 60_000;
const at = (minute: number) => new Date(START + minute * MINUTE);
const came = (times: number): Observed => ({ ...nothingObserved, counted: { '': times } });
const ended: Observed = { ...nothingObserved, endedFirst: true };

/** Returns a function that performs one step of an hour and returns the counts and all-clears sent. */
function telling(kind: AlertKind) {
  let hour = hourOf(undefined);
  return (minute: number, seen: Observed, alert: MessageRow['status'] | undefined = 'sent') => {
    if (!isDue(hour, seen, at(minute))) return [];
    const told = nextAlertState(kind, hour, seen, at(minute), alert);
    hour = told.hour;
    return told.messages.map(({ about }) => (about.over ? 'over' : totalOf(about.counted)));
  };
}

test('sends the first alert at once, and the count of later faults at the end of the hour', () => {
  const step = telling('upstream');
  expect(step(0, came(2))).toEqual([2]);
  expect(step(1, came(3))).toEqual([]);
  expect(step(59, came(4))).toEqual([]);
  expect(step(60, nothingObserved)).toEqual([7]);
  expect(step(61, came(1))).toEqual([]);
  expect(step(120, came(1))).toEqual([1]);
  expect(step(180, nothingObserved)).toEqual([1]);
  // Without a fault there is no alert, and the next fault begins a new hour.
  expect(step(240, nothingObserved)).toEqual([]);
  expect(step(250, came(1))).toEqual([1]);
});

test('sends one all-clear after the alert, and drops the faults counted before the all-clear', () => {
  const step = telling('upstream');
  expect(step(0, came(1))).toEqual([1]);
  expect(step(1, came(5))).toEqual([]);
  expect(step(2, ended)).toEqual(['over']);
  expect(step(3, ended)).toEqual([]);
  expect(step(60, nothingObserved)).toEqual([]);
});

test('sends an alert at the end of the hour for a fault that began again and still lasts', () => {
  const lasting = telling('upstream');
  expect(lasting(0, came(1))).toEqual([1]);
  expect(lasting(2, ended)).toEqual(['over']);
  expect(lasting(3, came(2))).toEqual([]);
  expect(lasting(60, nothingObserved)).toEqual([2]);
  expect(lasting(61, ended)).toEqual(['over']);

  const passing = telling('upstream');
  expect(passing(0, came(1))).toEqual([1]);
  expect(passing(2, ended)).toEqual(['over']);
  expect(passing(3, came(2))).toEqual([]);
  // This fault had no alert, so it has no all-clear either.
  expect(passing(4, ended)).toEqual([]);
  expect(passing(60, nothingObserved)).toEqual([]);
});

test('sends the all-clear only after the alert was sent, and never if the alert failed permanently', () => {
  const waiting = telling('disk');
  expect(waiting(0, came(1))).toEqual([1]);
  expect(waiting(1, ended, 'pending')).toEqual([]);
  expect(waiting(2, nothingObserved, 'pending')).toEqual([]);
  expect(waiting(3, nothingObserved, 'sent')).toEqual(['over']);
  expect(waiting(4, nothingObserved, 'sent')).toEqual([]);

  const dead = telling('disk');
  expect(dead(0, came(1))).toEqual([1]);
  expect(dead(1, ended, 'dead')).toEqual([]);
  expect(dead(2, nothingObserved, 'sent')).toEqual([]);
});

test('sends alert and all-clear for a fault that ended before its alert was sent', () => {
  const step = telling('store');
  expect(step(0, observedThen(came(1), ended), undefined)).toEqual([1]);
  expect(step(1, nothingObserved, 'sent')).toEqual(['over']);
});

test.each(['given_up', 'dead_message', 'expiring'] as const)(
  'sends no all-clear for %s, and the count of later faults at the end of the hour',
  (kind) => {
    const step = telling(kind);
    expect(step(0, came(1))).toEqual([1]);
    expect(step(1, came(2))).toEqual([]);
    expect(step(60, nothingObserved)).toEqual([2]);
    expect(step(120, nothingObserved)).toEqual([]);
    expect(step(130, came(3))).toEqual([3]);
  },
);

test('sends an alert although the current hour began while the wall clock was years ahead', () => {
  const step = telling('given_up');
  expect(step(5 * 365 * 24 * 60, came(1))).toEqual([1]);
  expect(step(0, came(2))).toEqual([2]);
  // Clocks of instances differ a little, which does not end an hour.
  expect(step(-1, came(1))).toEqual([]);
});

test('observedThen ignores an end between two faults, and keeps an end before or after the faults', () => {
  const order = (...all: Observed[]) => all.reduce(observedThen, nothingObserved);
  expect(order(came(1), ended, came(2))).toEqual(came(3));
  expect(order(ended, came(1), ended)).toEqual({ endedFirst: true, counted: { '': 1 }, endedLast: true });
  expect(order(ended, ended)).toEqual(ended);
  expect(order(came(1), nothingObserved)).toEqual(came(1));
  // Faults that could not be reported precede the later ones.
  expect(observedThen(order(came(1), ended), order(ended, came(2)))).toEqual(came(3));
});

test('adds up the faults of each detail, also of details named constructor and __proto__', () => {
  const by = (...details: string[]) =>
    details.map((detail): Observed => ({ ...nothingObserved, counted: { [detail]: 1 } }));
  const names = ['acme', 'constructor', '__proto__', 'acme', '__proto__'];
  const { counted } = by(...names).reduce(observedThen, nothingObserved);
  expect(Object.entries(counted)).toEqual([
    ['acme', 2],
    ['constructor', 1],
    ['__proto__', 2],
  ]);

  let hour = nextAlertState('reported', hourOf(undefined), { ...nothingObserved, counted }, at(0), undefined).hour;
  for (const seen of by('beta', '__proto__', 'beta'))
    hour = nextAlertState('reported', hour, seen, at(1), undefined).hour;
  const { messages } = nextAlertState('reported', hour, nothingObserved, at(60), undefined);
  expect(messages.map(({ about }) => Object.entries(about.counted))).toEqual([
    [
      ['beta', 2],
      ['__proto__', 1],
    ],
  ]);
});

test('puts the time of the alert into the key and the text data of the all-clear', () => {
  const before = { ...hourOf(undefined), lasts: true, alert_key: `disk ${at(0).toISOString()}` };
  const { messages } = nextAlertState('disk', before, ended, at(5), 'sent');
  expect(messages).toEqual([
    {
      key: `disk ${at(0).toISOString()} over`,
      about: { kind: 'disk', counted: {}, over: true, since: at(0).toISOString() },
    },
  ]);
});

test('keeps an hour open until its last notice, although a batch of notices is read after the hour', () => {
  const notices = Array.from({ length: 25 }, (_, index) => ({
    key: `n-${index}`,
    form: 'contact',
    requested_at: at(index).toISOString(),
  }));
  const first = throttleNotices(hourOf(undefined), notices.slice(0, 22), at(90), false);
  expect([first.send.length, first.count.length, first.summaries]).toEqual([20, 2, []]);
  const last = throttleNotices(first.hour, notices.slice(22), at(90), true);
  expect([last.send, last.count.length]).toEqual([[], 3]);
  expect(last.summaries).toEqual([{ began_at: at(0).toISOString(), counted: { contact: 5 } }]);
});

test('begins an hour with the first notice after the end of another, also within one batch', () => {
  const notices = [...Array<number>(21).fill(0), 61].map((minute, index) => ({
    key: `n-${index}`,
    form: 'contact',
    requested_at: at(minute).toISOString(),
  }));
  const { hour, send, count, summaries } = throttleNotices(hourOf(undefined), notices, at(62), true);
  expect([send.length, send.at(-1), count]).toEqual([21, 'n-21', ['n-20']]);
  expect(summaries).toEqual([{ began_at: at(0).toISOString(), counted: { contact: 1 } }]);
  expect(hour).toMatchObject({ began_at: at(61).toISOString(), sent: 1 });
});

test('is due for an all-clear only after the fault has ended', () => {
  const alert_key = `disk ${at(0).toISOString()}`;
  const due = (hour: Partial<Hour>) => isDue({ ...hourOf(undefined), ...hour }, nothingObserved, at(1));
  expect([due({}), due({ lasts: true, alert_key }), due({ alert_key })]).toEqual([false, false, true]);
});

test('remembers the alert only of a kind that has an all-clear', () => {
  const alertKeyOf = (kind: AlertKind) =>
    nextAlertState(kind, hourOf(undefined), came(1), at(0), undefined).hour.alert_key;
  expect([alertKeyOf('disk'), alertKeyOf('given_up')]).toEqual([`disk ${at(0).toISOString()}`, null]);
});

test('keeps an end that was seen before the faults of the same check', () => {
  const seen: Observed = { endedFirst: true, counted: { '': 1 }, endedLast: false };
  expect(observedThen(nothingObserved, seen)).toEqual(seen);
});

test('reads whether the fault of an hour lasts', () => {
  const row = { kind: 'disk', began_at: null, sent: 0, counted: '{}', alert_key: null, looked_until_ms: null } as const;
  expect([hourOf({ ...row, lasts: 1 }).lasts, hourOf({ ...row, lasts: 0 }).lasts]).toEqual([true, false]);
  expect(hourOf(undefined).lasts).toBe(false);
});
