/** Conditional parts and placeholders of pages (reference §15.1). */
import { describe, expect, test } from 'vitest';
import { forms } from '../../src/forms/catalog.ts';
import { placeholderFiller, type SiteSettings, selectPart, selectParts } from '../../src/site/placeholders.ts';
import { deployment } from './deployment.ts';

describe('selectParts', () => {
  /** Returns the names of the parts that are shown. */
  const shown = (settings: Partial<SiteSettings>, sent?: keyof typeof forms) => {
    const names = [
      'local',
      'mcp',
      'oauth',
      'no_oauth',
      'unconfigured',
      'operator_contact',
      'any',
      ...Object.keys(forms),
    ];
    const text = names.map((name) => `{{#${name}}}\n${name}\n{{/${name}}}`).join('\n');
    return selectParts(text, { ...deployment, ...settings }, sent && forms[sent]).split('\n');
  };

  test.each<[string, Partial<SiteSettings>, string[]]>([
    ['production', {}, ['mcp', 'oauth', 'operator_contact', 'any']],
    ['local mode', { mode: 'local' }, ['local', 'mcp', 'oauth', 'operator_contact', 'any']],
    ['a deployment without MCP', { mcp: 'off' }, ['oauth', 'operator_contact', 'any']],
    ['a deployment without OAuth', { oauth: 'off' }, ['mcp', 'no_oauth', 'operator_contact', 'any']],
    [
      'a deployment without an upstream',
      { upstream: { kind: 'none' } },
      ['mcp', 'oauth', 'unconfigured', 'operator_contact', 'any'],
    ],
    [
      'a deployment without a contact',
      { operator: { name: 'Fair Coat', contact: undefined } },
      ['mcp', 'oauth', 'any'],
    ],
  ])('shows the parts of %s', (_name, settings, parts) => {
    expect(shown(settings)).toEqual(parts);
  });

  test('shows a person who sent a form the part of this form', () => {
    expect(shown({}, 'newsletter')).toEqual(['mcp', 'oauth', 'operator_contact', 'newsletter']);
  });
});

test.each([
  ['no end', 'a\n{{#x}}\nb'],
  ['two ends', 'a\n{{#x}}\nb\n{{/x}}\nc\n{{/x}}'],
])('selectPart leaves a part with %s in the text, because its mark stops the start', (_name, text) => {
  expect(selectPart(text, 'x', true)).toBe(text);
});

test.each([
  ['| a |\n{{#x}}\n| b |\n{{/x}}\n| c |', '| a |\n| b |\n| c |', '| a |\n| c |'],
  ['- a\n{{#x}}\n- b\n{{/x}}\n\nText', '- a\n- b\n\nText', '- a\n\nText'],
  ['Text\n\n{{#x}}\nb\n\n{{/x}}\nc', 'Text\n\nb\n\nc', 'Text\n\nc'],
  ['Text\n\n{{#x}}\nb\n{{/x}}\n\nc', 'Text\n\nb\n\nc', 'Text\n\nc'],
  ['{{#x}}\nb\n{{/x}}', 'b', ''],
  ['a\n\n{{#x}}\n{{/x}}\n\n\nb', 'a\n\nb', 'a\n\nb'],
])('selectPart shows or hides the part of %j, and leaves the lines around it as they are', (text, shown, hidden) => {
  expect([selectPart(text, 'x', true), selectPart(text, 'x', false).trim()]).toEqual([shown, hidden]);
});

test('selectPart selects each of several parts with one name', () => {
  expect(selectPart('{{#x}}\na\n{{/x}}\nb\n{{#x}}\nc\n{{/x}}', 'x', false)).toBe('b');
});

describe('placeholderFiller', () => {
  const named = (name: string) => placeholderFiller({ ...deployment, operator: { name, contact: undefined } });

  test('leaves pictures out of formats without pictures', () => {
    const fill = named('Fair Coat');
    for (const icon of ['icon_form', 'icon_house', 'icon_answer']) {
      const formats = (['html', 'markdown', 'text'] as const).map((as) => fill(`{{${icon}}}`, as));
      expect(formats).toEqual([expect.stringMatching(/^<svg class="icon"/), '', '']);
    }
  });

  test('isolates a name of the opposite writing direction, and no other name', () => {
    const formats = (name: string) =>
      (['html', 'markdown', 'text'] as const).map((as) => named(name)('{{operator}}', as));
    expect(formats('צבע & בית')).toEqual(['<bdi>צבע &amp; בית</bdi>', 'צבע \\& בית', '\u2068צבע & בית\u2069']);
    expect(formats("O'Neil <Co>")).toEqual(['O&#39;Neil &lt;Co&gt;', "O'Neil \\<Co\\>", "O'Neil <Co>"]);
  });
});
