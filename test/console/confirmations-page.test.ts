/** The text that an operator sees on the pages of confirmations and of failed messages (reference §12.13). */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { MessageRow } from '../../src/storage/operation-schema.ts';
import type { ConfirmationRow, ExecutionRow } from '../../src/storage/schema.ts';
import { testClock } from '../support/clock.ts';
import { executionRow } from '../support/executions.ts';
import { credentials, type Service } from '../support/service.ts';
import { type Operator, signIn, startWithConsole, useClients } from './operator.ts';
import { visibleText } from './visible-text.ts';

/** The time of the tests, which is 14:00 in Berlin. */
const NOW = '2026-09-01T12:00:00.000Z';
const LATER = '2026-09-01T12:00:00.001Z';

let service: Service;
let operator: Operator;
beforeAll(async () => {
  service = await startWithConsole({ clock: testClock(NOW) });
  const [acme, ...others] = credentials.clients;
  const clients = [{ ...acme, label: 'Acme Assistant' }, ...others];
  await useClients(service, clients);
  operator = await signIn(service);
});
afterAll(() => service.close());
beforeEach(() =>
  service.parts.storage.write(async (tx) => {
    await tx.deleteFrom('messages').execute();
    await tx.deleteFrom('operator_audit').execute();
  }),
);

/** Returns the title, the lines between the heading's paragraph and the note at the end, and the links among them. */
async function open(path: string) {
  const { text } = await operator.get(path);
  const lines = visibleText(text);
  expect(lines.at(-1)).toBe('Times are in Europe/Berlin.');
  const links = [...text.matchAll(/<a href="(\/operator\/leads\/[^"]+)">(.*?)<\/a>/g)].map(([, href, words]) => [
    words,
    href,
  ]);
  return { title: /<title>(.*?)<\/title>/.exec(text)?.[1], lines: lines.slice(2, -1), links };
}

const audit = async () => {
  const rows = await service.parts.storage.read((db) => db.selectFrom('operator_audit').selectAll().orderBy('id'));
  return rows.map(({ what, about }) => [what, JSON.parse(about)]);
};

describe('GET /operator/confirmations', () => {
  const confirmationRow = (given: Partial<ConfirmationRow>): ConfirmationRow => ({
    id: randomUUID(),
    client: 'acme',
    action: 'homeowner_quote',
    via: 'page',
    destination: 'Vetted Painters',
    secret_digest: randomUUID(),
    mailbox_digest: 'd',
    created_at: NOW,
    expires_at: LATER,
    sandbox: 0,
    fields: null,
    email: null,
    code_number: 0,
    code_expires_at: null,
    wrong_codes: 0,
    press_id: null,
    ...given,
  });

  test('shows each confirmation with its client, its result and a link to its lead', async () => {
    const id = (n: number) => `0190a000-0000-7000-8000-00000000000${n}`;
    const settled_at = '2026-09-01T11:30:00.000Z';
    const given: [Partial<ConfirmationRow>, Partial<ExecutionRow> | undefined][] = [
      [{ via: 'page_email' }, { status: 'asked', settled_at: null }],
      [
        { expires_at: NOW, client: 'other' },
        { status: 'asked', settled_at: null },
      ],
      [{ action: 'contact' }, { status: 'executing', settled_at: null }],
      [{ destination: 'Paint & Sons' }, { status: 'submitted' }],
      [{ client: 'other', via: 'page_email' }, { status: 'failed' }],
      [{}, { status: 'declined' }],
      [{}, { status: 'reported' }],
      [{}, { status: 'expired' }],
      [{}, undefined],
      [{ sandbox: 1 }, { status: 'submitted' }],
    ];
    await service.parts.storage.write(async (tx) => {
      for (const [n, [confirmation, execution]] of given.entries()) {
        const row = confirmationRow({ id: id(n), created_at: `2026-09-01T10:0${9 - n}:00.000Z`, ...confirmation });
        await tx.insertInto('confirmations').values(row).execute();
        if (execution === undefined) continue;
        await tx
          .insertInto('executions')
          .values(executionRow({ action_id: id(n), settled_at, ...execution }))
          .execute();
      }
    });
    const { title, lines, links } = await open('/operator/confirmations');
    expect(title).toBe('Confirmations · Paint Match');
    const ended = 'ended 1 Sept 2026, 13:30';
    const acme = 'Acme Assistant (acme) to Vetted Painters';
    expect(lines).toEqual([
      ...['Homeowner quote', `${acme} with a code by mail`, '1 Sept 2026, 12:09', 'Pending'],
      ...['Homeowner quote', 'other to Vetted Painters', '1 Sept 2026, 12:08', 'Expired'],
      ...['Contact', acme, '1 Sept 2026, 12:07', 'Being sent'],
      ...['Homeowner quote', 'Acme Assistant (acme) to Paint & Sons', `1 Sept 2026, 12:06, ${ended}`, 'Sent'],
      ...['Homeowner quote', 'other to Vetted Painters with a code by mail', `1 Sept 2026, 12:05, ${ended}`, 'Failed'],
      ...['Homeowner quote', acme, `1 Sept 2026, 12:04, ${ended}`, 'Declined'],
      ...['Homeowner quote', acme, `1 Sept 2026, 12:03, ${ended}`, 'Reported as unwanted'],
      ...['Homeowner quote', acme, `1 Sept 2026, 12:02, ${ended}`, 'Expired'],
      ...['Homeowner quote', acme, '1 Sept 2026, 12:01', 'Expired'],
    ]);
    expect(links).toEqual([3, 4].map((n) => ['Homeowner quote', `/operator/leads/${id(n)}`]));
    expect(await audit()).toEqual([['saw_confirmations', { count: 9 }]]);
  });
});

describe('/operator/messages', () => {
  const PAGE = '/operator/messages';
  const LEAD = '0190a000-0000-7000-8000-00000000abcd';
  const messageRow = (given: Partial<MessageRow>): MessageRow => ({
    kind: 'alert',
    key: randomUUID(),
    address: null,
    about: null,
    sealed_secret: null,
    priority: 2,
    message_id: `<${randomUUID()}@x.example>`,
    status: 'dead',
    requested_at: NOW,
    attempts: 1,
    next_attempt_at: '2100-01-01T00:00:00.000Z',
    last_attempt_at: NOW,
    attempt_started_ms: 1,
    reply: '550 no',
    ...given,
  });
  const keep = (rows: Partial<MessageRow>[]) =>
    service.parts.storage.write(async (tx) => {
      for (let from = 0; from < rows.length; from += 1_000) {
        const some = rows.slice(from, from + 1_000).map(messageRow);
        await tx.insertInto('messages').values(some).execute();
      }
    });

  test('shows each kind of message with its recipient, its attempts and a link to its lead', async () => {
    const kinds = [
      ['code', 'Code for a confirmation'],
      ['sign_in', 'Sign-in link'],
      ['confirmation', 'Confirmation of a subscription'],
      ['notice', 'Notice of a lead'],
      ['contractor_notice', 'Notice to the contractor'],
      ['notice_summary', 'Summary of notices'],
      ['alert', 'Alert'],
      ['acknowledgement', 'Acknowledgement of a form'],
      ['of_a_later_version', 'of_a_later_version'],
    ] as [MessageRow['kind'], string][];
    await keep([
      ...kinds.map(([kind], n) => ({ kind, key: LEAD, requested_at: `2026-09-01T10:0${9 - n}:00.000Z` })),
      { key: 'early', address: 'ada@example.com', attempts: 2, last_attempt_at: null, requested_at: '2026-08-01' },
      { status: 'pending' },
      { status: 'sent' },
    ]);
    const { title, lines, links } = await open(PAGE);
    expect(title).toBe('Messages · Paint Match');
    const refused = 'The mail server refused the message: 550 no to';
    expect(lines).toEqual([
      '10 failed permanently, 1 waiting',
      ...kinds.flatMap(([, words], n) => [
        words,
        `${refused} the address in the settings 1 attempt requested 1 Sept 2026, 12:0${9 - n}`,
        ...['last attempt 1 Sept 2026, 14:00', 'Resend'],
      ]),
      ...['Alert', `${refused} ada@example.com 2 attempts requested 1 Aug 2026, 02:00`, 'Resend'],
    ]);
    expect(links).toEqual(
      ['Notice of a lead', 'Notice to the contractor'].map((words) => [words, `/operator/leads/${LEAD}`]),
    );
    expect(await audit()).toEqual([['saw_messages', { count: 10 }]]);
  });

  test('counts up to 10,000 waiting messages, and says if there are more', async () => {
    await keep(Array.from({ length: 10_000 }, () => ({ status: 'pending' as const })));
    expect((await open(PAGE)).lines[0]).toBe('0 failed permanently, 10,000 waiting');
    await keep([{ status: 'pending' }]);
    expect((await open(PAGE)).lines[0]).toBe('0 failed permanently, more than 10,000 waiting');
  });

  test.each<[MessageRow['kind'], object]>([
    ['notice', { ids: ['any key'] }],
    ['contractor_notice', { ids: ['any key'] }],
    ['confirmation', { count: 1 }],
    ['alert', { count: 1 }],
  ])('“Resend” of a message of the kind %s is audited with %j', async (kind, about) => {
    await keep([{ kind, key: 'any key' }]);
    expect((await operator.press(PAGE, { do: 'resend', kind, key: 'any key' })).status).toBe(303);
    expect(await audit()).toEqual([['resent_message', about]]);
  });

  test.each([{ kind: 'alert' }, { key: 'any key' }])('“Resend” of only %j answers 400', async (form) => {
    expect((await operator.press(PAGE, { do: 'resend', ...form })).status).toBe(400);
  });
});
