/** Names that people decide by follow the rules of fields, wherever they enter (ASVS 2.2.1, reference §2.11). */
import { writeFileSync } from 'node:fs';
import { describe, expect, test, vi } from 'vitest';
import { nameOfOperator } from '../../src/console/links.ts';
import { parseClients } from '../../src/credentials/clients.ts';
import { openCredentials } from '../../src/credentials/file.ts';
import { readSettings } from '../../src/settings/settings.ts';
import { clientOf, keepingLog, writeCredentials } from '../credentials/credentials-file.ts';
import { testClock } from '../support/clock.ts';

const isClient = (name: string) =>
  parseClients(JSON.stringify({ clients: [clientOf(name, ['token'])] })).kind === 'valid';
const isLabel = (label: string) =>
  parseClients(JSON.stringify({ clients: [{ ...clientOf('acme', ['token']), label }] })).kind === 'valid';
const isSetting = (variable: string) => (name: string) =>
  readSettings({ NODE_ENV: 'test', [variable]: name }).kind === 'valid';

const DOORS: [door: string, takes: (name: string) => boolean][] = [
  ['a client in the credentials file', isClient],
  ['a label in the credentials file', isLabel],
  ['OPERATOR_NAME', isSetting('OPERATOR_NAME')],
  ['CONTRACTOR_NAME', isSetting('CONTRACTOR_NAME')],
  ['operator link --name', (name) => nameOfOperator(name) === name],
];

const DECEIVING = [
  ['an override of direction', 'Acme\u202emoc.elpmaxe'],
  ['an open isolate', 'Acme\u2067'],
  ['an invisible blank', 'Acme\u200bBank'],
  ['tags', 'Acme\u{e0041}\u{e0042}'],
  ['a line separator', 'Acme\u2028Confirm'],
  ['a line feed', 'Acme\nConfirm'],
  ['a tab', 'Acme\tBank'],
  ['an escape sequence', 'Acme\u001b[2J'],
  ['a run of joiners', 'Acme\u200c\u200d\u200c'],
  ['only blanks', ' \u00a0\u3000'],
  ['only fillers', '\u3164\uffa0'],
  ['only a mark of direction', '\u200e'],
  ['only an object replacement character', '\ufffc'],
  ['only marks', '\u0301\u0302'],
  ['seventy marks on a letter', `a${'\u0316'.repeat(70)}`],
  ['a noncharacter', 'Acme\ufdd0'],
  ['half of a surrogate pair', 'Acme\ud83d'],
] as const;

const TRUE_NAMES = [
  ['Persian, with a non-joiner', 'محمد‌رضا'],
  ['Hindi, with a joiner', 'क्‍ष'],
  ['an emoji of two characters', '👩‍🎨 Jo'],
  ['an emoji of a family with a heart', '👩‍❤️‍👨 & co'],
  ['Hebrew, with points', 'דָּוִד'],
  ['Vietnamese', 'Nguyễn Thị'],
  ['Malayalam, with a joiner', 'അവന്‍'],
  ['a mark of direction after a bracket', 'חברה (בע״מ)\u200f א'],
  ['Japanese', '株式会社　塗装'],
  ['a full-width name', 'Ａｃｍｅ'],
  ['ASCII', 'acme-assistant.2 & "Sons"'],
] as const;

describe.each(DOORS)('name of %s', (_door, takes) => {
  test.each(DECEIVING)('is rejected with %s', (_name, name) => {
    expect(takes(name)).toBe(false);
  });

  test.each(TRUE_NAMES)('is accepted unchanged: %s', (_name, name) => {
    expect(takes(name)).toBe(true);
  });

  test('is rejected in Unicode form NFD, because it looks like the same name in NFC', () => {
    expect(takes('José'.normalize('NFD'))).toBe(false);
  });
});

test('operator link stores a name trimmed and in NFC, also if it was typed in NFD', () => {
  for (const typed of ['José', 'José'.normalize('NFD'), '  José\t']) {
    expect(nameOfOperator(typed)).toBe('José');
  }
});

test('openCredentials keeps the clients of the last valid file if a new file has a deceiving name', async () => {
  const path = writeCredentials(clientOf('acme', ['one']));
  const { log, lines } = keepingLog();
  const credentials = openCredentials({ path, log, clock: testClock(), pollMs: 5 });
  writeFileSync(path, JSON.stringify({ clients: [clientOf('acme\u202e', ['two'])] }));
  await vi.waitFor(() => expect(lines).toHaveLength(1));
  credentials.close();
  expect(lines[0]).toMatch(/clients\.0\.name: must be one line .* The last valid file stays in force/);
  expect(credentials.clients().map(({ name }) => name)).toEqual(['acme']);
});
