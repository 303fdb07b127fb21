/** Lines of notices and alerts for each state, without a database (reference §11.5, §11.6). */
import { expect, test } from 'vitest';
import { UNSTORED } from '../../src/notices/alert-kinds.ts';
import { alertMail, type DeliveryFacts } from '../../src/notices/alert-mail.ts';
import { linkOrCommands, type MailSite, noticeMail, summaryMail } from '../../src/notices/notice-mail.ts';
import type { SubmissionRow } from '../../src/storage/schema.ts';
import { submission } from './operator-mail.ts';

const site: MailSite = {
  operatorName: 'Paint Match',
  baseUrl: 'https://paint.example',
  hasConsole: true,
  timeOf: (at) => `<${at}>`,
  labelOf: (client) => `Label of ${client}`,
};

/** Returns the notice about a row whose event has these data. */
function notice(data: object, row: Partial<SubmissionRow> = {}) {
  const event = JSON.stringify({ data: { fields: {}, recipient: null, client: null, ...data } });
  return noticeMail(submission({ form: 'homeowner_quote', event, ...row }), site) ?? expect.fail();
}

test.each<[string, Partial<SubmissionRow>]>([
  ['stored in the inbox', { status: 'delivered', stored_here: 1 }],
  ['delivered', { status: 'delivered', stored_here: 0 }],
  ['stored, delivery in progress', { status: 'sending' }],
  ['stored, not delivered yet', { status: 'waiting', next_attempt_ms: null }],
  ['stored, not delivered yet, next attempt on <5>', { status: 'waiting', next_attempt_ms: 5 }],
  ['NOT DELIVERED. The submission is stored, but the service makes no further attempt.', { status: 'undelivered' }],
  ['dismissed', { status: 'dismissed' }],
])('a notice says «%s»', (status, row) => {
  expect(notice({}, row).text).toContain(`\nStatus: ${status}\n`);
});

test.each<[string, Partial<SubmissionRow>, string | null]>([
  ['a browser', { origin: 'browser' }, null],
  ['an agent, Label of acme', { origin: 'agent' }, 'acme'],
  ['an agent, whose name is not stored', { origin: 'agent' }, null],
])('a notice comes from %s', (origin, row, client) => {
  expect(notice({ client }, row).text).toContain(`\nForm: homeowner quote, from ${origin}\n`);
});

test.each([
  ['postal code', 'Ada, 94110: homeowner quote', { name: 'Ada', postal_code: '94110', company: 'Acme' }],
  ['company', 'Ada, Acme: homeowner quote', { name: 'Ada', company: 'Acme' }],
  ['name alone', 'Ada: homeowner quote', { name: 'Ada' }],
  ['name in one line', 'Ada Lovelace: homeowner quote', { name: ' Ada \n\t Lovelace ' }],
  ['name without a change of direction', 'Ada: homeowner quote', { name: 'A\u202eda' }],
  ['name without the beginning of an encoded word', 'A= ?b?: homeowner quote', { name: 'A=?b?' }],
  ['form alone, without a name', 'homeowner quote', { company: 'Acme' }],
  ['whole place of 30 characters', `Ada, ${'c'.repeat(30)}: homeowner quote`, { name: 'Ada', company: 'c'.repeat(30) }],
  ['cut place', `Ada, ${'c'.repeat(29)}…: homeowner quote`, { name: 'Ada', company: 'c'.repeat(31) }],
  [
    'cut place without a final blank',
    `Ada, ${'c'.repeat(28)}…: homeowner quote`,
    { name: 'Ada', company: `${'c'.repeat(28)} cc` },
  ],
  ['whole name', `${'\u{1f3a8}'.repeat(83)}: homeowner quote`, { name: '\u{1f3a8}'.repeat(83) }],
  ['cut name, at 100 characters', `${'\u{1f3a8}'.repeat(82)}…: homeowner quote`, { name: '\u{1f3a8}'.repeat(84) }],
])('the subject of a notice has the %s', (_part, subject, fields) => {
  expect(notice({ fields }).subject).toBe(subject);
});

test('a summary counts the forms in the order of their names, with the page or the command that lists them', () => {
  const counted = { newsletter: 2, contact: 1 };
  const summary = (hasConsole: boolean) => summaryMail(counted, '2026-09-01T12:00:00.000Z', { ...site, hasConsole });
  const { subject, text } = summary(true);
  expect(subject).toBe('3 more submissions within an hour');
  expect(text.split('\n\n').slice(1, 3)).toEqual([
    'contact: 1\nnewsletter: 2',
    'To see all submissions since then:\nhttps://paint.example/operator/leads?since=2026-09-01T12%3A00%3A00.000Z',
  ]);
  expect(summary(false).text).toContain('\nnpm run inbox -- list --since 2026-09-01T12:00:00.000Z\n');
});

test('without the console, a message without commands has no line about them', () => {
  const see = { intro: 'To see it:', path: '/operator', commands: [] };
  expect(linkOrCommands({ ...site, hasConsole: false }, see)).toBeUndefined();
  expect(linkOrCommands(site, see)).toBe('To see it:\nhttps://paint.example/operator');
});

test('a notice shows the fields of a form that no longer exists by their names', () => {
  const { text } = notice({ fields: { colour: 'red', name: 'Ada' } }, { form: 'old_form' });
  expect(text).toMatch(/^name: Ada\ncolour: red\n\n/);
});

const nothing: DeliveryFacts = {
  waiting: 0,
  undelivered: 0,
  deliveredLater: 0,
  nextAttemptMs: undefined,
  lastAttempt: undefined,
};

const alert = (event: Partial<Parameters<typeof alertMail>[0]>, facts?: Partial<DeliveryFacts>, dataDir = '/data') => {
  const whole = { kind: 'upstream', counted: { '': 3 }, over: false, ...event } as const;
  return alertMail(whole, { ...site, dataDir }, facts && { ...nothing, ...facts }).text.split('\n\n');
};

test('an alert counts the people whose submission could not be stored', () => {
  expect(alert({ counted: { [UNSTORED]: 1 } })[1]).toMatch(/^1 could not be stored\. The person was asked/);
  expect(alert({ counted: { [UNSTORED]: 2 } })[1]).toMatch(/^2 could not be stored\. The people were asked/);
});

test('an alert tells waiting submissions from undelivered ones', () => {
  expect(alert({}, { waiting: 1, undelivered: 1 })).toContain(
    '1 waits for another attempt. 1 is undelivered, and not retried until you resend it.',
  );
  expect(alert({}, { waiting: 2, nextAttemptMs: 5 })).toContain(
    '2 wait for another attempt. The next attempt is due on <5>.',
  );
});

test.each([
  ['the receiver has confirmed meanwhile (HTTP status 200)', 'confirmed', 200],
  ['the receiver rejected the submission (HTTP status 422)', 'rejected', 422],
  ['the receiver asked the service to wait (HTTP status 429)', 'rateLimited', 429],
  ['the receiver did not confirm (HTTP status 500)', 'unconfirmed', 500],
  ['the receiver did not answer', 'unconfirmed', null],
  ['the service stopped before the receiver answered', 'unknown', null],
] as const)('the cause in an alert is that %s', (cause, outcome, http_status) => {
  const lastAttempt = { at: 'noon', ms: 5, outcome, by: 'first', http_status } as const;
  expect(alert({}, { waiting: 1, lastAttempt })).toContain(`Cause: ${cause}. Last attempt: <noon>.`);
});

test('an all-clear counts the submissions of one and of several people', () => {
  const over = { over: true, since: '2026-09-01T12:00:00.000Z' };
  expect(alert(over, { deliveredLater: 1, waiting: 1 })[0]).toMatch(/ 1 was delivered, 1 waits\.$/);
  expect(alert(over, { deliveredLater: 2 })[0]).toMatch(/ 2 were delivered, 0 wait\.$/);
  expect(alert({ ...over, kind: 'disk' })[0]).toMatch(/\S$/);
});

test('the commands of an alert quote a data folder for the shell', () => {
  expect(alert({ kind: 'disk' }, undefined, "/Ada's data").join('\n')).toContain("\ndf -h '/Ada'\\''s data'\n");
});
