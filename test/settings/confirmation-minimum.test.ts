import { expect, test } from 'vitest';
import { forms } from '../../src/forms/catalog.ts';
import { parseConfirmationMinimum, writeConfirmationMinimum } from '../../src/settings/confirmation-minimum.ts';

const all = (level: string) => Object.fromEntries(Object.keys(forms).map((name) => [name, level]));

test.each(['agent', 'page', 'page_email'])('%s is the minimum of every action', (level) => {
  const minimum = parseConfirmationMinimum(` ${level}\n`);
  expect(minimum).toEqual(all(level));
  expect(minimum && writeConfirmationMinimum(minimum)).toBe(level);
});

test('pairs set the minimum of some actions, and the others need none', () => {
  const minimum = parseConfirmationMinimum(' homeowner_quote = page_email , contact=page');
  expect(minimum).toEqual({ ...all('agent'), homeowner_quote: 'page_email', contact: 'page' });
  const written = (minimum && writeConfirmationMinimum(minimum)) ?? '';
  expect(written.split(',')).toEqual(expect.arrayContaining(['homeowner_quote=page_email', 'contact=page']));
  expect(written.split(',')).toHaveLength(4);
  expect(parseConfirmationMinimum(written)).toEqual(minimum);
});

test.each([
  '',
  'pages',
  'quote=page',
  'contact=pages',
  'contact',
  'contact=page=page',
  'contact=page,contact=page',
  'contact=page,page',
  'contact=page,',
])('%j is invalid', (text) => {
  expect(parseConfirmationMinimum(text)).toBeUndefined();
});
