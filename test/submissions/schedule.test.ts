import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Ended, nextOf } from '../../src/submissions/schedule.ts';
import type { Outcome } from '../../src/upstream/upstream.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DELAYS = [MINUTE, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 6 * HOUR, 12 * HOUR, 24 * HOUR];

const first: Ended = { attempt_by: 'first', resumed_status: null, step: null };
const redelivered = (step: number): Ended => ({
  attempt_by: 'redelivery',
  resumed_status: 'waiting',
  step,
});
const unconfirmed: Outcome = { kind: 'unconfirmed', reason: '' };
const rejected: Outcome = { kind: 'rejected', status: 422 };
const confirmed: Outcome = { kind: 'confirmed', known: false };
const limited = (retryAfterSeconds: number): Outcome => ({
  kind: 'rateLimited',
  retryAfterSeconds,
  status: 429,
});

/** Random draws: the minimum, the middle and the maximum. */
const least = () => 0;
const middle = (below: number) => (below - 1) / 2;
const greatest = (below: number) => below - 1;

describe('nextOf (reference §10.9)', () => {
  test('schedules seven redeliveries: after 1 min, 5 min, 30 min, 2 h, 6 h, 12 h and 24 h', () => {
    let ended = first;
    for (const [step, delayMs] of DELAYS.entries()) {
      expect(nextOf(ended, unconfirmed, true, middle)).toEqual({ kind: 'waiting', step, delayMs });
      ended = redelivered(step);
    }
    const used = { kind: 'undelivered', reason: 'attempts_used_up' };
    expect(nextOf(ended, unconfirmed, true)).toEqual(used);
    expect(nextOf(ended, limited(60), true)).toEqual(used);
  });

  test('varies each delay by up to a tenth, both limits included', () => {
    for (const [step, delay] of DELAYS.entries()) {
      const ended = step === 0 ? first : redelivered(step - 1);
      const at = (draw: (below: number) => number) => {
        const next = nextOf(ended, unconfirmed, true, draw);
        return next.kind === 'waiting' ? next.delayMs / delay : Number.NaN;
      };
      expect(at(least)).toBeCloseTo(0.9, 10);
      expect(at(greatest)).toBeCloseTo(1.1, 10);
    }
  });

  test('never waits less than the Retry-After of a 429, and varies a longer Retry-After only upwards', () => {
    const wait = (seconds: number, draw: (below: number) => number) => {
      const next = nextOf(first, limited(seconds), true, draw);
      return next.kind === 'waiting' ? next.delayMs : Number.NaN;
    };
    expect([wait(600, least), wait(600, middle), wait(600, greatest)]).toEqual([660_000, 600_000, 660_000]);
    expect([wait(1, least), wait(1, middle), wait(1, greatest)]).toEqual([54_000, 60_000, 66_000]);
    // Jitter alone would give 54 seconds.
    expect(wait(58, least)).toBe(58_000);
  });

  test('stays within a tenth of the delay and above Retry-After for arbitrary draws and values', () => {
    const step = fc.integer({ min: -1, max: DELAYS.length - 2 });
    const grain = fc.double({ min: 0, max: 1, noNaN: true });
    const asked = fc.option(fc.integer({ min: 1, max: 86_400 }), { nil: undefined });
    fc.assert(
      fc.property(step, grain, asked, (before, share, seconds) => {
        const ended = before < 0 ? first : redelivered(before);
        const outcome = seconds === undefined ? unconfirmed : limited(seconds);
        const next = nextOf(ended, outcome, true, (below) => Math.floor(share * (below - 1)));
        if (next.kind !== 'waiting') throw new Error(next.kind);
        const delay = DELAYS[before + 1] ?? Number.NaN;
        const askedMs = (seconds ?? 0) * 1_000;
        expect(next.step).toBe(before + 1);
        expect(next.delayMs).toBeGreaterThanOrEqual(Math.max(0.9 * delay - 1e-3, askedMs));
        expect(next.delayMs).toBeLessThanOrEqual(1.1 * Math.max(delay, askedMs) + 1e-3);
      }),
    );
  });

  test('draws a new delay each time', () => {
    const delays = Array.from({ length: 20 }, () => JSON.stringify(nextOf(first, unconfirmed, true)));
    expect(new Set(delays).size).toBeGreaterThan(1);
  });

  test('returns delivered after a confirmation and undelivered after a rejection, for every sender', () => {
    for (const by of ['first', 'redelivery', 'person', 'operator'] as const) {
      const ended: Ended = {
        attempt_by: by,
        resumed_status: by === 'first' ? null : 'waiting',
        step: 2,
      };
      expect(nextOf(ended, confirmed, true)).toEqual({ kind: 'delivered' });
      const left = { kind: 'undelivered', reason: 'rejected' };
      expect(nextOf(ended, rejected, true)).toEqual(left);
    }
  });

  test.each(['person', 'operator'] as const)(
    'returns resumed, which changes neither time nor step, after an unconfirmed attempt of the %s',
    (by) => {
      for (const outcome of [unconfirmed, limited(86_400), { kind: 'unknown' } as const]) {
        const ended: Ended = { attempt_by: by, resumed_status: 'waiting', step: 3 };
        expect(nextOf(ended, outcome, true)).toEqual({ kind: 'resumed' });
      }
    },
  );

  test('returns resumed for a delivered row, whatever the outcome of another attempt', () => {
    const ended: Ended = { attempt_by: 'operator', resumed_status: 'delivered', step: null };
    for (const outcome of [unconfirmed, rejected, limited(1), { kind: 'unknown' } as const])
      expect(nextOf(ended, outcome, true)).toEqual({ kind: 'resumed' });
  });

  test('returns undelivered for an unconfirmed first attempt with REDELIVERY=off', () => {
    const off = { kind: 'undelivered', reason: 'redelivery_off' };
    for (const outcome of [unconfirmed, limited(1), { kind: 'unknown' } as const])
      expect(nextOf(first, outcome, false)).toEqual(off);
  });
});
