import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadEnvironment } from '../../src/settings/environment.ts';

const emptyFolder = () => mkdtempSync(join(tmpdir(), 'settings-'));

function load(content: string | Buffer) {
  const folder = emptyFolder();
  writeFileSync(join(folder, '.env'), content);
  return loadEnvironment(folder);
}

describe('.env (reference §20.2)', () => {
  test('supplies values that the environment does not set', () => {
    const { environment, origins, faults } = load('PORT=4001\nOPERATOR_NAME="from .env"\n');
    expect(environment.PATH).toBe(process.env.PATH);
    expect(environment.OPERATOR_NAME).toBe('from .env');
    expect([origins('PATH'), origins('OPERATOR_NAME'), origins('HOST')]).toEqual(['environment', '.env', undefined]);
    expect(faults).toEqual([]);
    expect(load('PATH=nowhere').environment.PATH).toBe(process.env.PATH);
  });

  test('is returned with its path, and whether it was found', () => {
    const folder = emptyFolder();
    const path = join(folder, '.env');
    expect(loadEnvironment(folder)).toMatchObject({ file: { path, found: false }, faults: [] });
    writeFileSync(path, '');
    expect(loadEnvironment(folder)).toMatchObject({ file: { path, found: true }, faults: [] });
  });

  test.each([
    ['a BOM', '\uFEFFPORT=4001'],
    ['Windows line breaks', '# words\r\n\r\nPORT=4001\r\nHOST="::1"\r\n'],
    ['line breaks of old Macs', '# words\rPORT=4001\rHOST="::1"'],
    ['export', 'export PORT=4001'],
    ['blanks', '\t PORT = 4001 \n  # words'],
    ['quotes', 'PORT="4001"'],
    ['comments after values', "PORT='4001' # ours\nHOST=::1 # theirs"],
    ['the file of a secret', 'PORT=4001\nUPSTREAM_SECRET_FILE=/run/secrets/upstream'],
    ['empty values', 'PORT=4001\nHOST=\nOPERATOR_NAME=""'],
  ])('may contain %s', (_, content) => {
    const { environment, faults } = load(content);
    expect(faults).toEqual([]);
    expect(environment.PORT).toBe('4001');
  });

  test.each([
    ['UPSTREM_URL=canary', 'UPSTREM_URL (line 2 of .env) names no setting. Did you mean UPSTREAM_URL?'],
    ['SMTP_URL_FIL=canary', 'SMTP_URL_FIL (line 2 of .env) names no setting. Did you mean SMTP_URL_FILE?'],
    ['port=canary', 'Line 2 of .env names no setting. Did you mean PORT?'],
    ['aPORT=canary', 'Line 2 of .env names no setting. Did you mean PORT?'],
    ['PORTa=canary', 'Line 2 of .env names no setting. Did you mean PORT?'],
    ['ZZZZZZZZZZZZZZZZZZ=canary', 'ZZZZZZZZZZZZZZZZZZ (line 2 of .env) names no setting. See .env.example.'],
    ['canarycanarycanarycanary==', 'Line 2 of .env names no setting. See .env.example.'],
    ['canary', 'Line 2 of .env is not NAME=value.'],
    ['OPERATOR NAME=canary', 'Line 2 of .env is not NAME=value.'],
    ['=canary', 'Line 2 of .env is not NAME=value.'],
    [
      'OPERATOR_NAME="canary & Sons',
      'OPERATOR_NAME (line 2 of .env) has an unclosed quotation mark, or text behind the closing one.',
    ],
    [
      "OPERATOR_NAME='canary's",
      'OPERATOR_NAME (line 2 of .env) has an unclosed quotation mark, or text behind the closing one.',
    ],
    [
      'OPERATOR_NAME="canary" & Sons',
      'OPERATOR_NAME (line 2 of .env) has an unclosed quotation mark, or text behind the closing one.',
    ],
    // Without a blank in front, `#` begins no comment, and nothing else may follow a quoted value.
    ...['"canary"#1', '"canary"# words', "'canary'#1", '`canary`#1'].map((written) => [
      `OPERATOR_NAME=${written}`,
      'OPERATOR_NAME (line 2 of .env) has an unclosed quotation mark, or text behind the closing one.',
    ]),
  ])('%j is rejected without its value', (line, fault) => {
    expect(load(`PORT=4001\n${line}\nHOST="::1"\n`).faults).toEqual([fault]);
  });

  test.each([
    ['Paint#1', 'Paint#1'],
    ['#1 Painters', '#1 Painters'],
    ['Paint #1', 'Paint'],
    [' # only words', ''],
    ['"Paint #1" # words', 'Paint #1'],
    ['"Paint"\t# words', 'Paint'],
    ['"Paint" ', 'Paint'],
    ["'Paint #1'", 'Paint #1'],
    ['`Paint "#1"`', 'Paint "#1"'],
    [String.raw`"Jo \"Big\" Neil"`, 'Jo "Big" Neil'],
    [String.raw`"Jo\nNeil"`, 'Jo\nNeil'],
    [String.raw`"C:\\new"`, String.raw`C:\new`],
    [String.raw`"C:\temp"`, String.raw`C:\temp`],
    [String.raw`C:\new`, String.raw`C:\new`],
    [String.raw`'Jo \"Neil'`, String.raw`Jo \"Neil`],
    ['a=b=c', 'a=b=c'],
    ['Jo "Big" Neil', 'Jo "Big" Neil'],
    ['5" Brushes', '5" Brushes'],
    ['  "Paint"', 'Paint'],
  ])('sets OPERATOR_NAME=%s to %j', (written, value) => {
    const { environment, faults } = load(`OPERATOR_NAME=${written}\n`);
    expect({ value: environment.OPERATOR_NAME, faults }).toEqual({ value, faults: [] });
  });

  test('uses the last of two lines with the same name', () => {
    expect(load('PORT=4001\nPORT=4002').environment.PORT).toBe('4002');
  });

  const utf16 = Buffer.from('\uFEFFPORT=4001\r\n', 'utf16le');
  test.each([
    ['UTF-16 with a BOM', utf16, 'The .env file is UTF-16. Save it as UTF-8.'],
    ['UTF-16 in big-endian order', Buffer.from(utf16).swap16(), 'The .env file is UTF-16. Save it as UTF-8.'],
    ['UTF-16 without a BOM', utf16.subarray(2), 'The .env file is not valid UTF-8. Save it as UTF-8.'],
    [
      'Latin-1',
      Buffer.from('OPERATOR_NAME=M\xfcller', 'latin1'),
      'The .env file is not valid UTF-8. Save it as UTF-8.',
    ],
  ])('is rejected with a sentence about its encoding if it is %s', (_, content, fault) => {
    expect(load(content).faults).toEqual([fault]);
  });

  test('is rejected if it can’t be read', () => {
    const folder = emptyFolder();
    mkdirSync(join(folder, '.env'));
    expect(loadEnvironment(folder).faults).toEqual(['The .env file can’t be read. Check its permissions.']);
  });
});
