/** Tags in the e-mail addresses of tests (reference §27.4, §27.5). */
import { describe, expect, test } from 'vitest';
import { outcomeTagOf, pressTagOf } from '../../src/sandbox/tags.ts';

describe('outcomeTagOf', () => {
  test.each([
    ['ada+rejected@example.com', 'rejected'],
    ['ada+limited@example.org', 'limited'],
    ['ada+unconfirmed@example.net', 'unconfirmed'],
    ['ada+slow@example.com', 'slow'],
    ['ada+presses+rejected@example.com', 'rejected'],
    ['ada+slow+rejected@example.com', 'rejected'],
    ['+slow@example.com', 'slow'],
  ])('returns for %s the tag %s', (email, tag) => {
    expect(outcomeTagOf(email)).toBe(tag);
  });

  test.each([
    'ada@example.com',
    'rejected@example.com',
    'ada+rejected+presses@example.com',
    'ada+rejected+x@example.com',
    'ada+rejectedx@example.com',
    'ada+presses@example.com',
    'ada+@example.com',
    'ada+rejected@paint.example',
    'ada+rejected@sub.example.com',
    'ada+rejected',
    '',
  ])('returns undefined for %j', (email) => {
    expect(outcomeTagOf(email)).toBeUndefined();
  });
});

describe('pressTagOf', () => {
  test.each([
    ['ada+presses@example.com', 'presses'],
    ['ada+declines@example.org', 'declines'],
    ['ada+presses+rejected@example.net', 'presses'],
    ['ada+rejected+declines@example.com', 'declines'],
    ['ada+declines+presses@example.com', 'presses'],
  ])('returns for %s the tag %s', (email, tag) => {
    expect(pressTagOf(email)).toBe(tag);
  });

  test.each([
    'ada@example.com',
    'presses@example.com',
    'ada+pressesx@example.com',
    'ada+rejected@example.com',
    'ada+presses@paint.example',
    'ada+presses',
    '',
  ])('returns undefined for %j', (email) => {
    expect(pressTagOf(email)).toBeUndefined();
  });
});
