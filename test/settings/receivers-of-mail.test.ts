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

test('a minimum of page_email for any action is rejected without a mail server', () => {
  const fault = 'CONFIRMATION_MINIMUM needs a mail server for page_email. Set SMTP_URL and MAIL_FROM.';
  for (const CONFIRMATION_MINIMUM of ['page_email', 'contact=page,newsletter=page_email']) {
    expect(faultsOf({ ...production, CONFIRMATION_MINIMUM })).toEqual([fault]);
    expect(faultsOf({ CONFIRMATION_MINIMUM })).toEqual([]);
    const mail = { SMTP_URL: 'smtp://mail.example', MAIL_FROM: 'hello@paint.example' };
    expect(faultsOf({ ...production, ...mail, CONFIRMATION_MINIMUM })).toEqual([]);
  }
  expect(faultsOf({ ...production, CONFIRMATION_MINIMUM: 'contact=page' })).toEqual([]);
});

test('an invalid value gets no second fault for its absence', () => {
  expect(faultsOf({ NODE_ENV: 'production', BASE_URL: 'ftp://paint.example' })).toEqual([
    expect.stringMatching(/^BASE_URL /),
  ]);
  expect(faultsOf({ SMTP_URL: 'smtp://mail.example', MAIL_FROM: 'nobody' })).toEqual([
    expect.stringMatching(/^MAIL_FROM /),
  ]);
  expect(faultsOf({ SMTP_URL: 'smtp://mail.example' })).toEqual(['MAIL_FROM is required with SMTP_URL.']);
});

test('an address is secure by its scheme, in capitals as well', () => {
  expect(faultsOf({ ...production, BASE_URL: 'HTTPS://paint.example', OPERATOR_CONSOLE: 'on' })).toEqual([]);
  const tricky = { ...production, BASE_URL: 'http://paint.example/https:', OPERATOR_CONSOLE: 'on' };
  expect(faultsOf(tricky)).not.toEqual([]);
});
