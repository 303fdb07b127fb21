import { expect, test } from 'vitest';
import { fact, secureAddress, telephone, year } from '../../src/settings/contractor-facts.ts';

const parsed = (schema: typeof fact, given: string) => {
  const result = schema.try(given);
  return result.ok ? result.value : result.message;
};

test('a fact is trimmed, and has at most 120 characters', () => {
  expect(parsed(fact, ' Licensed ')).toBe('Licensed');
  expect(parsed(fact, '🎨'.repeat(120))).toBe('🎨'.repeat(120));
  expect(parsed(fact, 'a'.repeat(121))).toContain('must have at most 120 characters');
});

test.each(['1600', '1998', '2024'])('%s is a year', (given) => expect(parsed(year, given)).toBe(given));

test.each(['1598', '2124', '998', '19981', '11998', '1x98', '199x', '1a98', '19 98'])('%s is no year', (given) => {
  expect(parsed(year, given)).toContain('must be a year such as 1998');
});

test('a telephone number has digits', () => {
  expect(parsed(telephone, '+1 415 555 0100')).toBe('+1 415 555 0100');
  expect(parsed(telephone, 'call us')).toContain('must be a telephone number');
});

test.each(['http://paint.example', 'paint.example', 'https://ada:secret@paint.example', 'javascript:alert(1)'])(
  '%s is no secure address',
  (given) => {
    const message = parsed(secureAddress, given);
    expect(message).toContain('must be an https:// address');
    expect(message).not.toContain('secret');
  },
);

test('an https address is a secure address', () => {
  expect(parsed(secureAddress, 'https://paint.example/about')).toBe('https://paint.example/about');
});
