import { describe, expect, test } from 'vitest';
import { ago, remaining } from '../../src/site/relative-times.ts';

const now = new Date('2026-11-29T12:00:00.000Z');
const later = (ms: number) => new Date(now.getTime() + ms);
const SECOND = 1000;
const HOUR = 3600 * SECOND;
const DAY = 24 * HOUR;

test.each([
  [-HOUR, 'en', '0 minutes'],
  [SECOND, 'en', '1 minute'],
  [58 * 60 * SECOND, 'en', '58 minutes'],
  [58 * 60 * SECOND + 1, 'de', '59 Minuten'],
])('remaining() returns the time that is left after %d ms in %s as %s', (ms, lang, text) => {
  const datetime = later(ms).toISOString();
  expect(remaining(later(ms), now, lang, '(until {time})')).toBe(
    `<time datetime="${datetime}" data-exact="(until {time})">${text}</time>`,
  );
});

test('remaining() escapes its text for the exact time', () => {
  expect(remaining(later(HOUR), now, 'en', '"<b>{time}')).toContain('data-exact="&quot;&lt;b&gt;{time}"');
});

describe('ago()', () => {
  test.each([
    [-DAY, 'en', '1 minute ago'],
    [0, 'en', '1 minute ago'],
    [120 * SECOND - 1, 'en', '1 minute ago'],
    [120 * SECOND, 'en', '2 minutes ago'],
    [HOUR - 1, 'en', '59 minutes ago'],
    [HOUR, 'en', '1 hour ago'],
    [DAY - 1, 'en', '23 hours ago'],
    [DAY, 'en', '1 day ago'],
    [3 * DAY, 'de', 'vor 3 Tagen'],
  ])('returns the time %d ms ago in %s as %s', (ms, lang, text) => {
    const datetime = later(-ms).toISOString();
    expect(ago(later(-ms), now, lang)).toBe(`<time datetime="${datetime}" data-exact="({time})">${text}</time>`);
  });
});
