/** Compares the checks of the form script with those of the server. `e2e/` runs the script in a browser. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { FieldKind } from '../../src/forms/catalog.ts';
import { normalize, parseEmail } from '../../src/forms/fields.ts';
import { defaultAssets } from '../../src/site/assets.ts';
import { codePoint } from '../support/code-point.ts';

const source = (path: string) => readFileSync(join(import.meta.dirname, '../../src', path), 'utf8');
const script = source('site/assets/form.js');
const filling = source('site/assets/fill.js');

/** Returns the regular expression that a constant of the script or of the server is declared as. */
function literalOf(text: string, name: string): RegExp {
  const [, pattern, flags] = new RegExp(`^const ${name} =\\s+/(.+)/([a-z]*);$`, 'm').exec(text) ?? [];
  if (pattern === undefined) return expect.fail(`${name} is not there`);
  return new RegExp(pattern, flags);
}

describe('form script', () => {
  test('is served completely, without its comments', () => {
    const sent = defaultAssets.script.body.toString();
    const code = ['form.js', 'arrival.js', 'hints.js', 'fill.js'].flatMap((file) =>
      source(`site/assets/${file}`)
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => line !== '' && !line.startsWith('//') && !line.startsWith('/**')),
    );
    expect(sent.split('\n')).toEqual(code);
    expect(() => new Function(sent)).not.toThrow();
  });

  test('removes the same invisible characters from an address as the server', () => {
    const [here, there] = [script, source('forms/invisible-characters.ts')].map((text) =>
      literalOf(text, 'INVISIBLES'),
    );
    expect(here).toEqual(there);
  });

  test('never refuses an address that the server accepts', () => {
    const [, folded = ''] = /^const fold = \(text\) => (.+);$/m.exec(script) ?? [];
    const fold = new Function('INVISIBLES', 'text', `return ${folded}`);
    const [invisibles, email] = [literalOf(script, 'INVISIBLES'), literalOf(script, 'EMAIL')];
    const parts = [
      'a',
      'B',
      '9',
      '.',
      '-',
      '_',
      '+',
      '@',
      'ü',
      'ß',
      '日',
      '＠',
      '。',
      'ｅ',
      '\u0301',
      'xn--',
      '%',
      ' ',
    ];
    const unseen = [
      '\u200b',
      '\u2800',
      '\u00ad',
      '\ufffc',
      '\u{13430}',
      '\u{16fe4}',
      '\u3164',
      '\ufe0f',
      '\u2028',
      '\t',
    ];
    const text = fc.array(fc.constantFrom(...parts, ...unseen), { maxLength: 12 }).map((each) => each.join(''));
    const address = fc.tuple(text, text).map(([local, domain]) => `a${local}@${domain}b.example`);
    fc.assert(
      fc.property(address, (written) => {
        const isAccepted = parseEmail(normalize(written, 'email')) !== undefined;
        expect(!isAccepted || email.test(fold(invisibles, written))).toBe(true);
      }),
      { numRuns: 5_000 },
    );
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
  ])('accepts the address %s only if the server does', (address) => {
    expect(literalOf(script, 'EMAIL').test(address)).toBe(parseEmail(address) !== undefined);
  });
});

describe('script that fills in a form', () => {
  type Control = { type: string; dataset: { folded?: string } };
  const names = ['HIDDEN', 'SURPLUS', 'INVISIBLES'] as const;
  const patterns = names.map((name) => literalOf(source('forms/invisible-characters.ts'), name));
  const [body = ''] = /^function normalize[\s\S]*?^}$/m.exec(filling) ?? [];
  const normalizeInBrowser = (value: string, control: Control): string =>
    new Function(...names, `return ${body}`)(...patterns)(value, control);

  test.each(['HIDDEN', 'SURPLUS'])('has the pattern %s of the server', (name) => {
    const [here, there] = [filling, source('forms/invisible-characters.ts')].map((text) => literalOf(text, name));
    expect(here).toEqual(there);
  });

  test.each<[FieldKind, Control]>([
    ['line', { type: 'text', dataset: {} }],
    ['choice', { type: 'radio', dataset: {} }],
    ['text', { type: 'textarea', dataset: {} }],
    ['email', { type: 'email', dataset: { folded: '' } }],
    ['phone', { type: 'tel', dataset: { folded: '' } }],
    ['code', { type: 'text', dataset: { folded: '' } }],
  ])('normalizes any value of the kind %s as the server does', (kind, control) => {
    const unseen = ['\u200b', '\u200e', '\u00ad', '\u202e', '\ufe0f', '\u200d', '\u{e0041}', '\u{e0100}', '\u2800'];
    const visible = ['a', '漢', '🎨', 'ａ', ' ', '\t', '\r\n', '\r', '\u2028', '\v', '\x85'];
    const pieces = fc.array(fc.constantFrom(...unseen, ...visible)).map((each) => each.join(''));
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: codePoint }), pieces), (written) => {
        expect(normalizeInBrowser(written, control)).toBe(normalize(written, kind));
      }),
      { numRuns: 500 },
    );
  });
});
