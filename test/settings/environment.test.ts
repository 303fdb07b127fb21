import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadEnvironment } from '../../src/settings/environment.ts';

const emptyFolder = () => mkdtempSync(join(tmpdir(), 'settings-'));

function load(content: string) {
  const folder = emptyFolder();
  writeFileSync(join(folder, '.env'), content);
  return loadEnvironment(folder);
}

describe('.env (contract §2)', () => {
  test('is used where the environment says nothing', () => {
    const { environment, origins, faults } = load('PORT=4001\nOPERATOR_NAME="from .env"\n');
    expect(environment.PATH).toBe(process.env.PATH);
    expect(environment.OPERATOR_NAME).toBe('from .env');
    expect([origins('PATH'), origins('OPERATOR_NAME'), origins('HOST')]).toEqual([
      'environment',
      '.env',
      undefined,
    ]);
    expect(faults).toEqual([]);
    expect(load('PATH=nowhere').environment.PATH).toBe(process.env.PATH);
  });

  test('is named, and whether it was there', () => {
    const folder = emptyFolder();
    const path = join(folder, '.env');
    expect(loadEnvironment(folder)).toMatchObject({ file: { path, found: false }, faults: [] });
    writeFileSync(path, '');
    expect(loadEnvironment(folder)).toMatchObject({ file: { path, found: true }, faults: [] });
  });

  test.each([
    ['a BOM', '\uFEFFPORT=4001'],
    ['Windows’ line breaks', '# words\r\n\r\nPORT=4001\r\nHOST="::1"\r\n'],
    ['export', 'export PORT=4001'],
    ['blanks', '\t PORT = 4001 \n  # words'],
    ['quotes', 'PORT="4001"'],
    ['a comment behind it', "PORT='4001' # ours\nHOST=::1 # theirs"],
    ['a secret’s file', 'PORT=4001\nUPSTREAM_SECRET_FILE=/run/secrets/upstream'],
    ['nothing in it', 'PORT=4001\nHOST=\nOPERATOR_NAME=""'],
  ])('may hold %s', (_, content) => {
    const { environment, faults } = load(content);
    expect(faults).toEqual([]);
    expect(environment.PORT).toBe('4001');
  });

  test.each([
    [
      'UPSTREM_URL=canary',
      'UPSTREM_URL (line 2 of .env) names no setting; did you mean UPSTREAM_URL?',
    ],
    [
      'SMTP_URL_FIL=canary',
      'SMTP_URL_FIL (line 2 of .env) names no setting; did you mean SMTP_URL_FILE?',
    ],
    ['port=canary', 'Line 2 of .env names no setting; did you mean PORT?'],
    [
      'ZZZZZZZZZZZZZZZZZZ=canary',
      'ZZZZZZZZZZZZZZZZZZ (line 2 of .env) names no setting; see .env.example.',
    ],
    ['canarycanarycanarycanary==', 'Line 2 of .env names no setting; see .env.example.'],
    ['canary', 'Line 2 of .env is no NAME=value.'],
    ['OPERATOR NAME=canary', 'Line 2 of .env is no NAME=value.'],
    ['=canary', 'Line 2 of .env is no NAME=value.'],
    [
      'OPERATOR_NAME="canary & Sons',
      'OPERATOR_NAME (line 2 of .env) has a quote that is not closed, or something behind it.',
    ],
    [
      "OPERATOR_NAME='canary's",
      'OPERATOR_NAME (line 2 of .env) has a quote that is not closed, or something behind it.',
    ],
    [
      'OPERATOR_NAME="canary" & Sons',
      'OPERATOR_NAME (line 2 of .env) has a quote that is not closed, or something behind it.',
    ],
  ])('%j is a fault that shows no value', (line, fault) => {
    expect(load(`PORT=4001\n${line}\nHOST="::1"\n`).faults).toEqual([fault]);
  });

  test('that can’t be read is a fault', () => {
    const folder = emptyFolder();
    mkdirSync(join(folder, '.env'));
    expect(loadEnvironment(folder).faults).toEqual([
      'The .env file can’t be read; check its permissions.',
    ]);
  });
});
