/** Values as other tools write, quote and encode them (reference §20.2). */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { faultsOfCredentials } from '../../src/credentials/file.ts';
import type { Environment } from '../../src/settings/environment.ts';
import { readSettings } from '../../src/settings/settings.ts';
import { newKey, publicOf } from '../support/receipts.ts';

const key = Buffer.alloc(32, 'key').toString('base64');

function faultsOf(environment: Environment): string[] {
  const read = readSettings(environment);
  return read.kind === 'invalid' ? read.faults : [];
}

describe('settings with percent-encoding', () => {
  test.each([
    ['SMTP_URL', 'smtp://AKIA:Aq+canary/U8@mail.example:587'],
    ['SMTP_URL', 'smtp://user:can#ary@mail.example'],
    ['SMTP_URL', 'smtps://user:can?ary@mail.example'],
    ['SMTP_URL', 'smtp://user:12/canary@mail.example'],
    ['SMTP_URL', 'smtp://user:canary%zz@mail.example'],
    ['SMTP_URL', 'smtp://100%canary:x@mail.example'],
    ['DATABASE_URL', 'postgres://user:can/ary@db.example/leads'],
    ['DATABASE_URL', 'postgres://user:12#canary@db.example/leads'],
    ['DATABASE_URL', 'postgres://user:1?canary@db.example/leads'],
    ['DATABASE_URL', 'postgres://user:canary%@db.example/leads'],
    ['REDIS_URL', 'redis://:can/ary@redis.example'],
    ['REDIS_URL', 'redis://:can#ary@redis.example:6379/1'],
    ['REDIS_URL', 'redis://:canary%zz@redis.example'],
  ] as const)('%s=%j is rejected with the rule for characters in a password', (name, value) => {
    const others = name === 'SMTP_URL' ? { MAIL_FROM: 'a@b.example' } : {};
    expect(faultsOf({ ...others, [name]: value })).toEqual([
      `${name} must have a percent-encoded user name and password: / as %2F, # as %23, ? as %3F and % as %25.`,
    ]);
  });

  test.each([
    ['SMTP_URL', 'smtp://AKIA:Aq+A%2FU8@mail.example:587?name=own.example'],
    ['SMTP_URL', 'smtp://user:p@ss@mail.example'],
    ['DATABASE_URL', 'postgres:///leads?host=/var/run/postgresql&user=app@db'],
    ['DATABASE_URL', 'postgres://app@%2Fvar%2Frun%2Fpostgresql/leads'],
    ['DATABASE_URL', 'sqlite:/srv/a@b/100%/#1?.db'],
  ] as const)('%s=%j is accepted, because it needs no percent-encoding', (name, value) => {
    expect(faultsOf({ MAIL_FROM: 'a@b.example', [name]: value })).toEqual([]);
  });
});

describe('settings in quotation marks', () => {
  test.each([
    ['OPERATOR_NAME', '"Paint Example"'],
    ['OPERATOR_NAME', "'Paint Example'"],
    ['OPERATOR_NAME', '"Paint Example" # from .env'],
    ['OPERATOR_NAME', '""'],
    ['OPERATOR_NAME', '"Jo \\"Big\\" Neil"'],
    ['OPERATOR_NAME', '"\\"Big\\" Neil" # from .env'],
    ['DATA_DIR', '"C:\\data\\"'],
    ['NODE_ENV', '"production"'],
    ['UPSTREAM_SECRET', `"whsec_${key}"`],
    ['AGENT_CREDENTIALS_FILE', '"/srv/agents.json"'],
    ['REDIS_URL_FILE', '"/run/secrets/redis"'],
  ])('%s=%j is rejected because of its quotation marks', (name, value) => {
    expect(faultsOf({ [name]: value })).toEqual([
      `${name} is in quotation marks, which would become part of the value. Remove them.`,
    ]);
  });

  test.each(['"Big" Jo', 'Jo "Big"', '"A" and "B"', '"A\\" and "B"', '"Best" #1 Painters', '"Paint"#1', 'O’Neil'])(
    'OPERATOR_NAME=%j is accepted, because the marks are not around the whole value',
    (OPERATOR_NAME) => {
      expect(readSettings({ OPERATOR_NAME })).toMatchObject({
        settings: { operator: { name: OPERATOR_NAME } },
      });
    },
  );

  test('faultsOfCredentials reports nothing for a quoted path, because the settings report it already', () => {
    expect(faultsOfCredentials('"/srv/agents.json"')).toEqual([]);
  });
});

test('RECEIPT_SIGNING_KEYS accepts \\n in place of line breaks', () => {
  const pem = newKey() + publicOf(newKey());
  const expected = readSettings({ RECEIPT_SIGNING_KEYS: pem });
  const kids = (read: ReturnType<typeof readSettings>) =>
    read.kind === 'valid' && read.settings.receiptKeys.published.map(({ kid }) => kid);
  for (const written of ['\\n', '\\r\\n', ' ']) {
    const RECEIPT_SIGNING_KEYS = pem.replaceAll('\n', written);
    expect(kids(readSettings({ RECEIPT_SIGNING_KEYS }))).toEqual(kids(expected));
  }
  expect(kids(expected)).toHaveLength(2);
});

test('UPSTREAM_SECRET_FILE is rejected if the file is UTF-16', () => {
  const path = join(mkdtempSync(join(tmpdir(), 'settings-')), 'value');
  writeFileSync(path, Buffer.from('\uFEFFcanary', 'utf16le'));
  expect(faultsOf({ UPSTREAM_SECRET_FILE: path })).toEqual([
    'UPSTREAM_SECRET_FILE names a file that is UTF-16. Save it as UTF-8.',
  ]);
});
