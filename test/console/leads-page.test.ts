import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
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
  await useClients(service, clients.slice(0, 2));
  operator = await signIn(service);
});
afterAll(() => service.close());
beforeEach(() => service.parts.storage.write((tx) => tx.deleteFrom('submissions').execute()));

type Row = ReturnType<typeof submissionRow>;
const keep = (...rows: Row[]) => keepRows(service.parts.storage, rows);

async function listOf(query = ''): Promise<string> {
  const { status, text } = await operator.get(`/operator/leads${query}`);
  expect(status).toBe(200);
  return text.replaceAll('&amp;', '&');
}

/** Returns the text and the address of each row. */
function rowsOf(page: string): (string | undefined)[][] {
  const rows = page.matchAll(/<li>\s*<label class="tick">[\s\S]*?<a href="([^"]*)">([\s\S]*?)<\/li>/g);
  return [...rows].map(([, href, row = '']) => [visibleText(row).join(' '), href]);
}

/** Returns the value and the label of each option, as `value: label`, and the selected value. */
function optionsOf(page: string, name: string) {
  const select = page.split(`<select id="${name}"`)[1]?.split('</select>', 1)[0] ?? '';
  const options = [...select.matchAll(/<option value="([^"]*)"( selected)?>(.*?)</g)];
  return {
    options: options.map(([, value, , label]) => `${value}: ${label}`),
    selected: options.filter(([, , isSelected]) => isSelected).map(([, value]) => value),
  };
}

/** Returns the text and the address of each link in the part of a page that begins with a text. */
function linksIn(page: string, beginning: string, end: string): (string | undefined)[][] {
  const part = page.split(beginning)[1]?.split(end, 1)[0] ?? '';
  const links = part.matchAll(/<a (?:class="[^"]*" )?href="([^"]*)"( aria-current="true")?>(.*?)<\/a>/g);
  return [...links].map(([, href, isCurrent, text = '']) => [...visibleText(text), href, ...(isCurrent ? ['*'] : [])]);
}

describe('a row of GET /operator/leads (reference §12.7)', () => {
  test('shows who wrote what and when, the agent, each progress but new and each status but delivered', async () => {
    const rows = [
      submissionRow({
        receivedAt: '2026-11-20T11:50:00.000Z',
        form: 'homeowner_quote',
        origin: 'agent',
        data: { client: 'acme' },
        status: 'sending',
        fields: {
          ...{ name: 'Ada Lovelace', email: 'ada@example.com', postal_code: '94110', phone: '+1 555 0100' },
          ...{ project_type: 'Interior', timeline: 'Within a month', message: 'Two rooms.' },
        },
      }),
      submissionRow({
        receivedAt: '2026-11-19T10:00:00.000Z',
        progress: 'answered',
        fields: { name: 'Bo', email: 'bo@example.com', subject: 'Paint', message: 'Which one?' },
      }),
      submissionRow({
        receivedAt: '2026-11-18T10:00:00.000Z',
        form: 'contractor_signup',
        origin: 'agent',
        data: { client: 'former' },
        progress: 'won',
        status: 'undelivered',
        fields: { name: 'Cy', email: 'cy@example.com', company: 'Cy & Co', company_size: 'Just me' },
      }),
      submissionRow({
        receivedAt: '2025-12-31T10:00:00.000Z',
        progress: 'lost',
        status: 'waiting',
        fields: { email: 'di@example.com', message: 'Hello' },
      }),
      submissionRow({
        receivedAt: '2025-12-30T10:00:00.000Z',
        form: 'contractor_signup',
        status: 'dismissed',
        fields: {},
      }),
    ];
    await keep(...rows);
    expect(rowsOf(await listOf())).toEqual(
      [
        'Ada Lovelace 12:50 94110 Interior Within a month Two rooms. Sending Acme Bank',
        'Bo 19 Nov Paint Which one? Answered',
        'Cy 18 Nov Cy & Co Just me Won Undelivered former',
        'di@example.com 31 Dec 2025 Contact Hello Lost Waiting',
        'Contractor signup 30 Dec 2025 Contractor signup Dismissed',
      ].map((line, n) => [line, `/operator/leads/${rows[n]?.id}`]),
    );
    expect(rowsOf(await listOf('?progress=won&q=cy'))).toEqual([
      [expect.stringMatching(/^Cy /), `/operator/leads/${rows[2]?.id}?q=cy&progress=won`],
    ]);
    // The page of a person has the same rows.
    const { text } = await operator.get(`/operator/people/${rows[1]?.id}`);
    expect(text).toContain(`<a href="/operator/leads/${rows[1]?.id}">`);
  });

  test.each([
    ['a', 160],
    ['🎨', 160],
  ])('cuts a message of 400 times %s after %i characters', async (character, count) => {
    await keep(submissionRow({ fields: { name: 'Ada', email: 'a@x.co', message: character.repeat(400) } }));
    const page = await listOf();
    expect(/class="snippet" dir="auto">(.*?)</.exec(page)?.[1]).toBe(character.repeat(count));
  });
});

describe('the filters of GET /operator/leads', () => {
  test.each<[string, string, boolean]>([
    ['', 'Filters', false],
    ['?q=ada', 'Filters', false],
    ['?progress=new', 'Filters', false],
    ['?status=delivered', 'Filters (1)', true],
    ['?progress=new&origin=browser&since=2026-01-01&q=ada', 'Filters (2)', true],
  ])(
    'counts the filters of the query %j that have no other place on the page, and shows them',
    async (query, summary, isOpen) => {
      const page = await listOf(query);
      expect(visibleText(page)).toContain(summary);
      expect(/<details open>\s*<summary>Filters/.test(page)).toBe(isOpen);
    },
  );

  test.each<[string, string, boolean]>([
    ['', 'No lead has arrived yet.', false],
    ['?status=waiting', 'No lead matches these filters.', true],
    ['?q=zoe', 'No lead matches “zoe” with these filters.', true],
  ])(
    'explains an empty list for the query %j, and offers all leads if there is a filter',
    async (query, sentence, hasLink) => {
      const page = await listOf(query);
      expect(page).toContain('<title>Leads · Paint Match</title>');
      expect(visibleText(page)).toContain(sentence);
      expect(linksIn(page, '<div class="above">', '</div>')).toEqual(hasLink ? [['Show all', '/operator/leads']] : []);
    },
  );

  test.each<[string, string[]]>([
    [
      'status',
      [
        ...[': Any', 'sending: Sending', 'delivered: Delivered'],
        ...['waiting: Waiting', 'undelivered: Undelivered', 'dismissed: Dismissed'],
      ],
    ],
    [
      'form',
      [
        ...[': All but newsletter', 'homeowner_quote: Homeowner quote'],
        ...['contractor_signup: Contractor signup', 'contact: Contact', 'newsletter: Newsletter'],
      ],
    ],
    ['origin', [': Anybody', 'browser: Browser', 'agent: Agent']],
    ['agent', [': Any', 'acme: Acme Bank', 'looker: looker']],
  ])('offers each %s, and selects the one in the query', async (name, options) => {
    expect(optionsOf(await listOf(), name)).toEqual({ options, selected: [] });
    const last = options.at(-1)?.split(':', 1)[0];
    expect(optionsOf(await listOf(`?${name}=${last}`), name)).toEqual({ options, selected: [last] });
  });

  test('offers an agent without credentials only if the query has it', async () => {
    const options = [': Any', 'acme: Acme Bank', 'looker: looker', 'former: former'];
    expect(optionsOf(await listOf('?agent=former'), 'agent')).toEqual({ options, selected: ['former'] });
  });

  test.each<[string, string | undefined]>([
    ['', undefined],
    ['?progress=won', 'Won'],
    ['?status=undelivered', 'Undelivered'],
    ['?status=delivered', undefined],
  ])('links each progress with its number of leads, and marks the link of the query %j', async (query, current) => {
    await keep(submissionRow({ progress: 'won' }), submissionRow(), submissionRow({ status: 'undelivered' }));
    const chips = [
      ['New 2', '/operator/leads?progress=new'],
      ['Answered 0', '/operator/leads?progress=answered'],
      ['Won 1', '/operator/leads?progress=won'],
      ['Lost 0', '/operator/leads?progress=lost'],
      ['Spam 0', '/operator/leads?progress=spam'],
      ['Undelivered 1', '/operator/leads?status=undelivered'],
    ];
    // The marked link leads back to all leads.
    const expected = chips.map(([text = '', href]) =>
      text.startsWith(current ?? '-') ? [text, '/operator/leads', '*'] : [text, href],
    );
    expect(linksIn(await listOf(query), '<ul class="chips"', '</ul>')).toEqual(expected);
  });
});

describe('GET /operator/leads', () => {
  test('has the exports and the buttons of the list', async () => {
    await keep(submissionRow());
    const page = await listOf('?status=delivered');
    expect(linksIn(page, 'Download the leads of this list:', '</p>')).toEqual([
      ['CSV', '/operator/leads.csv?status=delivered'],
      ['JSON lines', '/operator/leads.jsonl?status=delivered'],
    ]);
    const buttons = page.split('<fieldset class="bulk">')[1]?.matchAll(/name="do" value="(\w+)">(.*?)</g) ?? [];
    expect([...buttons].map(([, value, label]) => [value, label])).toEqual([
      ['new', 'New'],
      ['answered', 'Answered'],
      ['won', 'Won'],
      ['lost', 'Lost'],
      ['spam', 'Spam'],
      ['resend', 'Resend'],
    ]);
  });

  test('counts new leads from the newest lead on, although a newsletter submission is newer', async () => {
    const lead = submissionRow({ receivedAt: '2026-11-20T11:00:00.000Z' });
    const news = { form: 'newsletter', fields: { email: 'n@x.co' }, receivedAt: '2026-11-20T11:30:00.000Z' };
    await keep(lead, submissionRow(news));
    const after = `${Date.parse('2026-11-20T11:00:00.000Z')}_${lead.id}`;
    expect(await listOf()).toContain(`data-count="/operator/leads/new?after=${after}"`);
  });

  test('states up to 10,000 leads exactly, and more leads as “more”', async () => {
    await keep(...Array.from({ length: 10_000 }, () => submissionRow()));
    const exact = visibleText(await listOf());
    expect([exact.includes('New 10,000'), exact.includes('10,000 leads')]).toEqual([true, true]);
    await keep(submissionRow());
    const more = visibleText(await listOf());
    expect([more.includes('New 10,000+'), more.includes('More than 10,000 leads')]).toEqual([true, true]);
  });
});
