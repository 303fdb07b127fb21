import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openMailer } from '../../src/mail/smtp.ts';
import { readSettings } from '../../src/settings/settings.ts';
import { confirmation, startMailServer } from './mail-server.ts';

const message = { ...confirmation, address: 'jane@x.example', messageId: '<m-1@paint.example>' };

function settingsOf(environment: Record<string, string>) {
  const read = readSettings(environment);
  return read.kind === 'invalid' ? expect.fail(read.faults.join()) : read.settings;
}

test('openMailer returns undefined if no mail is configured', async () => {
  const settings = settingsOf({});
  expect(await openMailer({ ...settings, mail: { kind: 'none' } })).toBeUndefined();
});

test('writes messages to files in local mode, with the configured sender', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mail-'));
  const mail = { kind: 'files' as const, folder, from: 'Ada <ada@paint.example>' };
  const mailer = await openMailer({ ...settingsOf({}), mail });
  expect(await mailer?.send(message)).toEqual({ kind: 'sent' });
  expect(readdirSync(folder)).toEqual(['m-1.eml']);
  expect(readFileSync(join(folder, 'm-1.eml'), 'utf8')).toMatch(/^From: Ada <ada@paint.example>\r$/m);
});

test('sends messages to the server of SMTP_URL, with the configured sender', async () => {
  const server = await startMailServer();
  onTestFinished(server.close);
  const mail = { kind: 'smtp' as const, url: server.url, from: 'Ada <ada@paint.example>' };
  const mailer = await openMailer({ ...settingsOf({}), mail });
  expect(await mailer?.send(message)).toEqual({ kind: 'sent' });
  await mailer?.close();
  expect(server.received).toMatchObject([{ from: 'ada@paint.example', to: ['jane@x.example'] }]);
});

test.each([
  ['hello@paint.example', '=?UTF-8?Q?Malerei_Gr=C3=BCn?= <hello@paint.example>'],
  ['<hello@paint.example>', '=?UTF-8?Q?Malerei_Gr=C3=BCn?= <hello@paint.example>'],
  ['Ada <hello@paint.example>', 'Ada <hello@paint.example>'],
])('sends with OPERATOR_NAME as sender for MAIL_FROM=%s, unless MAIL_FROM contains a name', async (from, shown) => {
  const server = await startMailServer();
  onTestFinished(server.close);
  const mail = { kind: 'smtp' as const, url: server.url, from };
  const mailer = await openMailer({ ...settingsOf({ OPERATOR_NAME: 'Malerei Grün' }), mail });
  expect(await mailer?.send(message)).toEqual({ kind: 'sent' });
  await mailer?.close();
  expect(server.received[0]?.from).toBe('hello@paint.example');
  expect(server.received[0]?.raw).toContain(`\r\nFrom: ${shown}\r\n`);
});
