/** Times as the console shows them, and as an operator types them into a filter (reference §12.7). */
import { expect, test } from 'vitest';
import { timesIn } from '../../src/console/times.ts';

const berlin = timesIn('Europe/Berlin');
const NOW = new Date('2026-09-01T12:00:00.000Z');

test('shown returns day and time in the zone, and the same moment in UTC', () => {
  const shown = { text: '1 Sept 2026, 14:00', iso: '2026-09-01T12:00:00.000Z' };
  expect([NOW, NOW.getTime(), NOW.toISOString()].map(berlin.shown)).toEqual([shown, shown, shown]);
});

test.each([
  ['2026-09-01T12:00:00.000Z', '14:00', '1 Sept 2026, 14:00'],
  ['2026-08-31T22:00:00.000Z', '00:00', '1 Sept 2026, 00:00'],
  ['2026-08-31T21:59:59.000Z', '31 Aug', '31 Aug 2026, 23:59'],
  ['2025-12-31T23:00:00.000Z', '1 Jan', '1 Jan 2026, 00:00'],
  ['2025-12-31T22:59:59.000Z', '31 Dec 2025', '31 Dec 2025, 23:59'],
  ['2025-09-01T12:00:00.000Z', '1 Sept 2025', '1 Sept 2025, 14:00'],
])('brief returns %s as %s', (at, text, full) => {
  expect(berlin.brief(at, NOW)).toEqual({ text, full, iso: at });
});

test('dayOf returns the calendar day of the zone', () => {
  const midnight = Date.parse('2026-11-30T23:00:00.000Z');
  expect([berlin.dayOf(midnight - 1), berlin.dayOf(midnight)]).toEqual(['2026-11-30', '2026-12-01']);
});

test.each([
  ['2026-12-01', '2026-11-30T23:00:00.000Z'],
  ['2026-07-01', '2026-06-30T22:00:00.000Z'],
  ['2026-12-01T10:30Z', '2026-12-01T10:30:00.000Z'],
  ['2026-12-01T10:30:15Z', '2026-12-01T10:30:15.000Z'],
  ['2026-12-01T10:30:15.1Z', '2026-12-01T10:30:15.100Z'],
  ['2026-12-01T10:30:15.123456789Z', '2026-12-01T10:30:15.123Z'],
  ['2026-12-01T10:30+02:00', '2026-12-01T08:30:00.000Z'],
  ['2026-12-01T10:30:15.5-11:30', '2026-12-01T22:00:15.500Z'],
])('parse reads %s', (text, iso) => {
  expect(berlin.parse(text)?.toISOString()).toBe(iso);
});

test.each([
  ...['', 'x', '2026', '2026-12', '2026-12-1', '26-12-01', '12026-12-01', '2026-12-011', ' 2026-12-01', '2026-12-01\n'],
  ...['2026-02-30', '2026-13-01', '20261201', '2026-12-01x', '+002026-12-01', '2026-12-01[Europe/Paris]'],
  ...['2026-12-01T10:30', '2026-12-01T10Z', '2026-12-01T24:30Z', '2026-12-01 10:30Z', '2026-12-01T1:30Z'],
  ...['2026-12-01T10:30z', '2026-12-01T10:30:1Z', '2026-12-01T10:30:15.Z', '2026-12-01T10:30:15.1234567890Z'],
  ...['2026-12-01T10:30+0200', '2026-12-01T10:30+02', '2026-12-01T10:30+02:00:00', '20261201T1030Z'],
  ...['x2026-12-01T10:30Z', '2026-12-01T10:30Zx', '2026-12-01T10:30Z[UTC]', '+002026-12-01T10:30Z'],
])('parse refuses %j', (text) => {
  expect(berlin.parse(text)).toBeUndefined();
});
