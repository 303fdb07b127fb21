/** The script of the forms says nothing that the server would not say; a browser runs it in `e2e/`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseEmail } from '../../src/forms/fields.ts';

const source = (path: string) => readFileSync(join(import.meta.dirname, '../../src', path), 'utf8');
const script = source('site/assets/form.js');

/** The literal that a constant of the script or of the server is declared as. */
function literalOf(text: string, name: string): RegExp {
  const [, pattern, flags] =
    new RegExp(`^const ${name} =\\s+/(.+)/([a-z]*);$`, 'm').exec(text) ?? [];
  if (pattern === undefined) return expect.fail(`${name} is not there`);
  return new RegExp(pattern, flags);
}

describe('the script of the forms', () => {
  test('removes before it counts what the server removes', () => {
    const [here, there] = [script, source('forms/fields.ts')].map((text) =>
      literalOf(text, 'HIDDEN'),
    );
    expect(here).toEqual(there);
    expect(script).toContain("text.replace(HIDDEN, '$1')");
  });

  test.each([
    'ada@example.com',
    'ADA.l@Example.co',
    "o'neil+tag!#$%&*/=?^_`{|}~-.x@example.co",
    'ada@bücher.example',
    `${'a'.repeat(64)}@example.com`,
    `${'a'.repeat(65)}@example.com`,
    `${'a.'.repeat(32)}a@example.com`,
    '.ada@example.com',
    'ada.@example.com',
    'a..b@example.com',
    '.@example.com',
    '@example.com',
    'ada',
    'ada@localhost',
    'ada@-a.com',
    'ada@exa_mple.com',
    'a@b@example.com',
    'ädä@example.com',
    'ada lovelace@example.com',
  ])('takes an address just when the server does: %s', (address) => {
    expect(literalOf(script, 'EMAIL').test(address)).toBe(parseEmail(address) !== undefined);
  });
});
