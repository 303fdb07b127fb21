import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CONFIRMATION_STATEMENT } from '../../src/actions/preview.ts';
import type { AttemptBy, ConfirmedVia, SubmissionReason, SubmissionStatus } from '../../src/storage/schema.ts';
import type { AttemptOutcome } from '../../src/submissions/attempts.ts';
import { executeAction, previewId, quote } from '../support/agent.ts';
import { testClock } from '../support/clock.ts';
import { credentials, type Service } from '../support/service.ts';
import { keepRows, submissionRow } from '../support/submissions.ts';
import { type Operator, signIn, startWithConsole, useClients } from './operator.ts';
import { visibleText } from './visible-text.ts';

const clock = testClock('2026-11-20T12:00:00.000Z');
let service: Service;
let operator: Operator;
beforeAll(async () => {
  service = await startWithConsole({ clock, environment: { REDELIVERY: 'off' } });
  const clients = credentials.clients.map((one) => (one.name === 'acme' ? { ...one, label: 'Acme Bank' } : one));
  await useClients(service, clients);
  operator = await signIn(service);
});
afterAll(() => service.close());

const PROGRESSES = ['New', 'Answered', 'Won', 'Lost', 'Spam'];

async function open(id: string): Promise<string> {
  const { status, text } = await operator.get(`/operator/leads/${id}`);
  expect(status).toBe(200);
  return text;
}

async function pageOf(row: ReturnType<typeof submissionRow>): Promise<string> {
  await keepRows(service.parts.storage, [row]);
  return await open(row.id);
}

/** Returns the lines of the section with this heading. */
function sectionOf(page: string, heading: string): string[] {
  const section = page.split('<section ').find((part) => part.includes(`>${heading}</h2>`)) ?? '';
  return visibleText(`<section ${section.split('</section>', 1)[0]}`);
}

/** Returns the text and the address of every link in `<main>`, except the links to the next and the previous lead. */
function linksOf(page: string): (string | undefined)[][] {
  const main = page.slice(page.indexOf('<main'));
  const links = main.matchAll(/<a class="[^"]*" href="([^"]*)">(?:<bdi>)?(.*?)(?:<\/bdi>)?<\/a>/g);
  return [...links].map(([, href, text]) => [text, href?.replaceAll('&#39;', "'")]);
}

const deliveryOf = async (given: Parameters<typeof submissionRow>[0]) =>
  sectionOf(await pageOf(submissionRow(given)), 'Delivery');

describe('GET /operator/leads/:id (reference §12.10)', () => {
  test('shows fields, note, attempts and the next attempt of a waiting lead', async () => {
    const row = submissionRow({
      id: '46d6ade7-c038-41ac-bb1c-6ea91d49b30f',
      form: 'homeowner_quote',
      receivedAt: '2026-11-19T22:30:00.000Z',
      note: 'Call on Monday.',
      fields: {
        ...{ name: 'Ada Lovelace', email: 'ada@example.com', postal_code: '94110', phone: '+1 555 0100' },
        ...{ project_type: 'Interior', timeline: 'Within a month', message: 'Two rooms.' },
      },
      data: { recipient: { id: 'c-1', name: 'Northside Painting' } },
      status: 'waiting',
      next_attempt_ms: Date.parse('2026-11-20T12:05:00.000Z'),
      attempts: [
        { at: '2026-11-19T22:30:01.000Z', ms: 40, outcome: 'unconfirmed', http_status: 503 },
        { at: '2026-11-19T22:31:01.000Z', ms: 5_000, outcome: 'unconfirmed', by: 'redelivery', http_status: null },
      ],
    });
    const page = await pageOf(row);
    expect(visibleText(page).slice(1, 3)).toEqual(['Ada Lovelace', 'Homeowner quote · Browser · 19 Nov 2026, 23:30']);
    expect(sectionOf(page, 'Details')).toEqual([
      'Details',
      ...['Full name', 'Ada Lovelace'],
      ...['E-mail address', 'ada@example.com'],
      ...['Postal code', '94110'],
      ...['Phone number', '+1 555 0100'],
      ...['What is to be painted?', 'Interior'],
      ...['When should it be done?', 'Within a month'],
      ...['What should the contractor know?', 'Two rooms.'],
      'Everything about this person',
    ]);
    expect(linksOf(page)).toEqual([
      ['All leads', '/operator/leads'],
      ['Reply', 'mailto:ada@example.com?subject=Your%20message%20to%20Paint%20Match'],
      ['Call', 'tel:+15550100'],
      ['ada@example.com', 'mailto:ada@example.com'],
      ['+1 555 0100', 'tel:+15550100'],
      ['Everything about this person', `/operator/people/${row.id}`],
    ]);
    expect(sectionOf(page, 'Note')).toEqual(['Note', 'Note on this lead', 'Call on Monday.', 'Save note']);
    expect(sectionOf(page, 'Delivery').slice(0, 6)).toEqual([
      'Delivery',
      'Waiting for the next attempt',
      'Since 19 Nov 2026, 23:30. Recipient: Northside Painting.',
      '19 Nov 2026, 23:30 not confirmed HTTP 503, first attempt, 40 ms',
      '19 Nov 2026, 23:31 not confirmed automatic retry, 5000 ms',
      '20 Nov 2026, 13:05 next attempt',
    ]);
    expect(sectionOf(page, 'Consent and receipt')).toEqual([
      'Consent and receipt',
      'The person submitted a form on the site.',
      'Reference N4EM-KCRF 46d6ade7-c038-41ac-bb1c-6ea91d49b30f',
    ]);
  });

  test.each<[ConfirmedVia, string]>([
    ['agent', 'The agent repeated the statement'],
    ['client_form', 'The person accepted a form or card in the agent’s program'],
    ['page', 'The person confirmed on our page'],
    ['page_email', 'The person confirmed on our page, with a code from their mailbox'],
  ])('shows the agent and the receipt of a lead that was confirmed by %s', async (confirmed_via, words) => {
    const { body } = await executeAction(service, await previewId(service, 'homeowner_quote', quote));
    const id = body.receipt.action_id;
    await service.parts.storage.write((tx) =>
      tx.updateTable('executions').set({ confirmed_via }).where('action_id', '=', id).execute(),
    );
    const page = await open(id);
    expect(visibleText(page)).toContain('Homeowner quote · Acme Bank (acme) · 20 Nov 2026, 13:00');
    expect(sectionOf(page, 'Consent and receipt').slice(0, -1)).toEqual([
      'Consent and receipt',
      ...['Confirmed by', words],
      ...['Statement', CONFIRMATION_STATEMENT],
      ...['Recorded', '20 Nov 2026, 13:00'],
      ...['Receipt', 'submitted'],
    ]);
  });

  test('shows a newsletter submission by its address, with its consent and without a short reference', async () => {
    const row = submissionRow({
      form: 'newsletter',
      receivedAt: '2026-11-19T10:00:00.000Z',
      fields: { email: 'cy@example.com' },
      data: { consent_recorded_at: '2026-11-18T09:30:00.000Z' },
    });
    const page = await pageOf(row);
    expect(visibleText(page).slice(1)).toEqual([
      ...['cy@example.com', 'Newsletter · Browser · 19 Nov 2026, 11:00', 'Reply'],
      ...['Progress', ...PROGRESSES],
      ...['Details', 'E-mail address', 'cy@example.com', 'Everything about this person'],
      ...['Note', 'Note on this lead', 'Save note'],
      ...['Delivery', 'Delivered', 'Since 19 Nov 2026, 11:00. Recipient: Paint Match.', 'Resend'],
      expect.stringMatching(/^The receiver may already have this lead\./),
      ...['Consent and receipt', 'Consent was recorded on 18 Nov 2026, 10:30.', `Reference ${row.id}`],
      'Times are in Europe/Berlin.',
    ]);
  });

  test('shows neither fields nor note, and no link to the person, once the content is deleted', async () => {
    const row = submissionRow({
      form: 'contractor_signup',
      receivedAt: '2026-08-01T10:00:00.000Z',
      fields: {},
      status: 'undelivered',
    });
    expect(row.email).toBeNull();
    const lines = visibleText(await pageOf(row));
    expect(lines.slice(1, -3)).toEqual([
      ...['Contractor signup', 'Contractor signup · Browser · 1 Aug 2026, 12:00'],
      ...['Progress', ...PROGRESSES],
      ...['Details', 'The fields of this lead were deleted at the end of their retention period.'],
      ...['Delivery', 'Undelivered: the service makes no further attempt'],
      'Since 1 Aug 2026, 12:00. Recipient: Paint Match.',
      ...['Reason to stop the delivery', 'Answered', 'Other', 'Dismiss'],
      'Consent and receipt',
    ]);
  });

  test('shows the fields of a form that no longer exists under their names', async () => {
    const fields = { name: 'Bo', email: 'bo@example.com', roof_kind: 'Tin' };
    const page = await pageOf({ ...submissionRow({ fields }), form: 'roof_survey' });
    expect(visibleText(page).slice(1, 3)).toEqual(['Bo', 'Roof survey · Browser · 1 Sept 2026, 14:00']);
    expect(sectionOf(page, 'Details').slice(0, -1)).toEqual([
      'Details',
      ...['Name', 'Bo'],
      ...['Email', 'bo@example.com'],
      ...['Roof kind', 'Tin'],
    ]);
  });

  test('shows the labels of the lead’s own form', async () => {
    const fields = { name: 'Cy', email: 'cy@example.com', subject: 'Paint', message: 'Which one?' };
    const details = sectionOf(await pageOf(submissionRow({ fields })), 'Details');
    expect(details.slice(-5, -1)).toEqual(['Subject', 'Paint', 'Message', 'Which one?']);
  });

  test.each(['new', 'answered', 'won', 'lost', 'spam'] as const)(
    'marks the progress %s as pressed',
    async (progress) => {
      const page = await pageOf(submissionRow({ progress }));
      const buttons = [...page.matchAll(/name="progress" value="(\w+)" aria-pressed="(\w+)">(\w+)</g)];
      expect(buttons.map(([, , , label]) => label)).toEqual(PROGRESSES);
      expect(buttons.filter(([, , isPressed]) => isPressed === 'true').map(([, value]) => value)).toEqual([progress]);
    },
  );
});

describe('a link in the fields of a lead', () => {
  test.each<[string, string, string | undefined]>([
    ['phone', '+49 (30) 901-820', 'tel:+4930901820'],
    ['phone', '555.0100', 'tel:5550100'],
    ['phone', '+49 (0)30 901–820/1', 'tel:+49309018201'],
    ['phone', '(0) 30 901', 'tel:030901'],
    // Each of these would dial something else.
    ['phone', '555 0100 ext 7', undefined],
    ['phone', '555 0100, 555 0101', undefined],
    ['phone', '+1 555 0100 or +49 30 901820', undefined],
    ['phone', '+15550100+4930901820', undefined],
    ['phone', '**21*+491701234567#', undefined],
    ['phone', '*31#5550100', undefined],
    ['phone', 'x5550100', undefined],
    ['phone', '110', 'tel:110'],
    ['phone', '11', undefined],
    ['phone', 'ask Ada', undefined],
    ['postal_code', '94110', undefined],
    ['email', "o'neil+paint@example.com", "mailto:o'neil%2Bpaint@example.com"],
    ['email', 'a?cc=b&c@example.com', 'mailto:a%3Fcc%3Db%26c@example.com'],
  ])('opens the right program for the %s %j', async (name, value, href) => {
    const fields = { name: 'Ada', email: 'ada@example.com', [name]: value };
    const links = linksOf(await pageOf(submissionRow({ form: 'homeowner_quote', fields })));
    const scheme = name === 'email' ? 'mailto:' : 'tel:';
    const button = name === 'email' ? ['Reply', `${href}?subject=Your%20message%20to%20Paint%20Match`] : ['Call', href];
    const expected = href === undefined ? [] : [button, [expect.anything(), href]];
    expect(links.filter(([, address]) => address?.startsWith(scheme))).toEqual(expected);
  });
});

describe('the delivery of a lead', () => {
  test.each<[SubmissionStatus, string]>([
    ['sending', 'Being sent'],
    ['delivered', 'Delivered'],
    ['waiting', 'Waiting for the next attempt'],
    ['undelivered', 'Undelivered: the service makes no further attempt'],
    ['dismissed', 'Dismissed'],
  ])('states the status %s in words', async (status, words) => {
    const lines = await deliveryOf({ status });
    expect(lines.slice(0, 3)).toEqual(['Delivery', words, 'Since 1 Sept 2026, 14:00. Recipient: Paint Match.']);
  });

  test.each<[SubmissionReason, string]>([
    ['rejected', 'the receiver rejected the lead'],
    ['attempts_used_up', 'all attempts failed'],
    ['redelivery_off', 'REDELIVERY is off'],
    ['execution_failed', 'the execution failed, and the agent got a failed receipt'],
    ['sent_unkept', 'the service sent the lead while the database was unavailable, and never sends it again'],
    ['spam', 'spam'],
    ['answered', 'answered'],
    ['other', 'other'],
  ])('states the reason %s in words', async (reason, words) => {
    const [, , line] = await deliveryOf({ status: 'undelivered', reason });
    expect(line).toBe(`Reason: ${words}. Since 1 Sept 2026, 14:00. Recipient: Paint Match.`);
  });

  test.each<[AttemptOutcome, AttemptBy, string]>([
    ['confirmed', 'first', 'confirmed HTTP 200, first attempt'],
    ['rejected', 'redelivery', 'rejected HTTP 200, automatic retry'],
    ['rateLimited', 'person', 'not confirmed: the receiver is busy HTTP 200, resent by the person'],
    ['unconfirmed', 'operator', 'not confirmed HTTP 200, resent by an operator'],
    ['unknown', 'first', 'unknown: the service stopped during the attempt HTTP 200, first attempt'],
  ])(
    'states an attempt with the outcome %s by %s in words, and colours a confirmed one',
    async (outcome, by, words) => {
      const page = await pageOf(submissionRow({ attempts: [{ outcome, by }] }));
      expect(sectionOf(page, 'Delivery')).toContain(`1 Sept 2026, 14:00 ${words}, 12 ms`);
      expect(page.includes('<li class="good">')).toBe(outcome === 'confirmed');
    },
  );

  test('shows no next attempt while an attempt is under way', async () => {
    const next_attempt_ms = clock.now().getTime();
    const lines = await deliveryOf({ status: 'sending', next_attempt_ms, attempts: [{ outcome: 'unconfirmed' }] });
    expect(lines.slice(3)).toEqual(['1 Sept 2026, 14:00 not confirmed HTTP 200, first attempt, 12 ms']);
  });

  test.each<[string, Parameters<typeof submissionRow>[0], string[]]>([
    ['a delivered lead', {}, ['resend']],
    ['a waiting lead', { status: 'waiting' }, ['resend', 'dismiss']],
    ['an undelivered lead', { status: 'undelivered', reason: 'rejected' }, ['resend', 'dismiss']],
    ['a dismissed lead', { status: 'dismissed', reason: 'spam' }, ['resend']],
    ['an undelivered lead without content', { status: 'undelivered', email: null }, ['dismiss']],
    ['a lead that was sent unstored', { status: 'undelivered', reason: 'sent_unkept' }, ['dismiss']],
    ['a delivered lead of an agent', { origin: 'agent' }, []],
    ['a lead of a failed execution', { status: 'undelivered', origin: 'agent' }, ['dismiss']],
    ['a lead that is marked for a resend', { status: 'undelivered', resend_asked_ms: 1 }, []],
  ])('has the right buttons for %s', async (_what, given, buttons) => {
    const page = await pageOf(submissionRow(given));
    const main = page.slice(page.indexOf('<main'));
    expect([...main.matchAll(/<button [^>]*name="do" value="(\w+)"/g)].map(([, value]) => value)).toEqual(buttons);
    const isMarked = sectionOf(page, 'Delivery').some((line) => /^The service sends this lead again/.test(line));
    expect(isMarked).toBe(given?.resend_asked_ms !== undefined);
  });
});
