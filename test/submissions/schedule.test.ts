import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Ended, nextOf } from '../../src/submissions/schedule.ts';
import type { Outcome } from '../../src/upstream/upstream.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DELAYS = [MINUTE, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 6 * HOUR, 12 * HOUR, 24 * HOUR];

const first: Ended = { by: 'first', resumedStatus: null, step: null };
const redelivered = (step: number): Ended => ({ by: 'redelivery', resumedStatus: 'waiting', step });
const unconfirmed: Outcome = { kind: 'unconfirmed', reason: '' };
const rejected: Outcome = { kind: 'rejected', status: 422 };
const confirmed: Outcome = { kind: 'confirmed', known: false };
const limited = (retryAfterSeconds: number): Outcome => ({
  kind: 'rateLimited',
  retryAfterSeconds,
});

/** Draws the least, the middle and the greatest. */
const least = () => 0;
const middle = (below: number) => (below - 1) / 2;
const greatest = (below: number) => below - 1;

describe('the schedule of beyond §1', () => {
  test('there are seven redeliveries: 1 min, 5 min, 30 min, 2 h, 6 h, 12 h, 24 h after the attempt before', () => {
    let ended = first;
    for (const [step, delayMs] of DELAYS.entries()) {
      expect(nextOf(ended, unconfirmed, true, middle)).toEqual({ kind: 'waiting', step, delayMs });
      ended = redelivered(step);
    }
    const used = { kind: 'undelivered', reason: 'attempts_used_up' };
    expect(nextOf(ended, unconfirmed, true)).toEqual(used);
    expect(nextOf(ended, limited(60), true)).toEqual(used);
  });

  test('each is a tenth earlier or later, and both ends are reached', () => {
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

  test('a longer Retry-After of a 429 is a minimum, whose jitter only adds; a shorter one changes nothing but the least', () => {
    const wait = (seconds: number, draw: (below: number) => number) => {
      const next = nextOf(first, limited(seconds), true, draw);
      return next.kind === 'waiting' ? next.delayMs : Number.NaN;
    };
    expect([wait(600, least), wait(600, middle), wait(600, greatest)]).toEqual([
      660_000, 600_000, 660_000,
    ]);
    expect([wait(1, least), wait(1, middle), wait(1, greatest)]).toEqual([54_000, 60_000, 66_000]);
    // Of 58 seconds the jitter would take two.
    expect(wait(58, least)).toBe(58_000);
  });

  test('whatever is drawn and asked for: within a tenth of what stands there, and never before Retry-After', () => {
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

  test('the chance is drawn anew each time', () => {
    const delays = Array.from({ length: 20 }, () =>
      JSON.stringify(nextOf(first, unconfirmed, true)),
    );
    expect(new Set(delays).size).toBeGreaterThan(1);
  });

  test('what is confirmed is delivered, whoever attempted it; what is rejected is not tried again', () => {
    for (const by of ['first', 'redelivery', 'person', 'operator'] as const) {
      const ended: Ended = { by, resumedStatus: by === 'first' ? null : 'waiting', step: 2 };
      expect(nextOf(ended, confirmed, true)).toEqual({ kind: 'delivered' });
      const left = { kind: 'undelivered', reason: 'rejected' };
      expect(nextOf(ended, rejected, true)).toEqual(left);
    }
  });

  test.each(['person', 'operator'] as const)(
    'an attempt of the %s changes neither the moment nor the step',
    (by) => {
      for (const outcome of [unconfirmed, limited(86_400), { kind: 'unknown' } as const]) {
        const ended: Ended = { by, resumedStatus: 'waiting', step: 3 };
        expect(nextOf(ended, outcome, true)).toEqual({ kind: 'resumed' });
      }
    },
  );

  test('what was delivered stays delivered, also where another copy was not taken', () => {
    const ended: Ended = { by: 'operator', resumedStatus: 'delivered', step: null };
    for (const outcome of [unconfirmed, rejected, limited(1), { kind: 'unknown' } as const])
      expect(nextOf(ended, outcome, true)).toEqual({ kind: 'resumed' });
  });

  test('with REDELIVERY=off a first attempt that was not confirmed is left to the operator', () => {
    const off = { kind: 'undelivered', reason: 'redelivery_off' };
    for (const outcome of [unconfirmed, limited(1), { kind: 'unknown' } as const])
      expect(nextOf(first, outcome, false)).toEqual(off);
  });
});
