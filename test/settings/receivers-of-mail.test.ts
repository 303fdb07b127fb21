/** Settings that need a mail server (reference §20.5). */
import { expect, test } from 'vitest';
import type { Environment } from '../../src/settings/environment.ts';
import { readSettings } from '../../src/settings/settings.ts';

const production = { NODE_ENV: 'production', BASE_URL: 'https://paint.example' };

function faultsOf(environment: Environment): string[] {
  const read = readSettings(environment);
  return read.kind === 'invalid' ? read.faults : [];
}

function settingsOf(environment: Environment) {
  const read = readSettings(environment);
  return read.kind === 'valid' ? read.settings : expect.fail(read.faults.join(' '));
}

test('receivers of e-mails and ACKNOWLEDGE=on are rejected without a mail server, and read with one', () => {
  const told = {
    NOTIFY_EMAIL: ' Leads@Paint.example ',
    ALERT_EMAIL: 'faults@paint.example',
    CONTRACTOR_EMAIL: ' Owner@Painters.example',
    ACKNOWLEDGE: 'on',
  };
  expect(faultsOf({ ...production, ...told })).toEqual([
    'NOTIFY_EMAIL needs a mail server. Set SMTP_URL and MAIL_FROM.',
    'ALERT_EMAIL needs a mail server. Set SMTP_URL and MAIL_FROM.',
    'CONTRACTOR_EMAIL needs a mail server. Set SMTP_URL and MAIL_FROM.',
    'ACKNOWLEDGE=on needs a mail server. Set SMTP_URL and MAIL_FROM.',
  ]);
  const { notifyEmail, alertEmail, contractorEmail, acknowledge } = settingsOf(told);
  expect([notifyEmail, alertEmail]).toEqual(['leads@paint.example', 'faults@paint.example']);
  expect([contractorEmail, acknowledge]).toEqual(['owner@painters.example', 'on']);
  expect(settingsOf({}).acknowledge).toBe('off');
  expect(faultsOf({ ...production, ACKNOWLEDGE: 'off' })).toEqual([]);
});
