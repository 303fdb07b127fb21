/** The frame of all pages of the console: navigation, title, files and headers, and the answers without the store. */
import { readFileSync } from 'node:fs';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call } from '../support/agent.ts';
import type { Service } from '../support/service.ts';
import { keepRows, submissionRow } from '../support/submissions.ts';
import { linkFor, type Operator, operatorWith, signIn, startWithConsole } from './operator.ts';

let service: Service;
let operator: Operator;
beforeAll(async () => {
  service = await startWithConsole();
  operator = await signIn(service);
});
afterAll(() => service.close());

const titleIn = (html: string) => /<title>(.*?) · Paint Match<\/title>/.exec(html)?.[1];

test.each([
  ['/operator', 'Overview'],
  ['/operator/leads', 'Leads'],
  ['/operator/agents', 'Agents'],
  ['/operator/connections', 'Connections'],
  ['/operator/confirmations', 'Confirmations'],
  ['/operator/subscribers', 'Subscribers'],
  ['/operator/messages', 'Messages'],
  ['/operator/audit', 'Audit'],
])('%s has the title %s, and its link is the current one', async (path, title) => {
  const { status, headers, text } = await operator.get(path);
  expect([status, titleIn(text)]).toEqual([200, title]);
  expect(text.match(/<a [^>]*aria-current[^>]*>.*?<\/a>/g)).toContain(
    `<a href="${path}" aria-current="page">${title}</a>`,
  );
  expect(text.match(/aria-current="page"/g)).toHaveLength(1);
  expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
  for (const name of ['retry-after', 'set-cookie']) expect(headers.has(name), name).toBe(false);
});

test('a page below another marks the link above as current', async () => {
  const row = submissionRow();
  await keepRows(service.parts.storage, [row]);
  const { text } = await operator.get(`/operator/leads/${row.id}`);
  expect(text.match(/<a [^>]*aria-current[^>]*>.*?<\/a>/g)).toEqual([
    '<a href="/operator/leads" aria-current="true">Leads</a>',
  ]);
});

test.each([
  ['/operator/sign-in', 'Sign in'],
  ['/operator/sign-in/sent', 'Check your mail'],
])('%s has the title %s', async (path, title) => {
  expect(titleIn((await operatorWith(service, '').get(path)).text)).toBe(title);
});

test('the page of a sign-in link has the title Sign in', async () => {
  expect(titleIn((await operatorWith(service, '').get(await linkFor(service))).text)).toBe('Sign in');
});

test.each([
  ['operator.css', 'text/css; charset=utf-8'],
  ['operator.js', 'text/javascript; charset=utf-8'],
])('/assets/%s is the file of the source, which browsers keep for five minutes', async (file, type) => {
  const { status, headers, text } = await call(service, `/assets/${file}`, { method: 'GET' });
  expect([status, headers.get('content-type'), headers.get('cache-control')]).toEqual([
    200,
    type,
    'public, max-age=300',
  ]);
  expect(text).toBe(readFileSync(`src/console/${file}`, 'utf8'));
});

test('only the form of a note accepts a body of more than 8,000 bytes', async () => {
  const row = submissionRow();
  await keepRows(service.parts.storage, [row]);
  const form = { note: 'a'.repeat(4_000), progress: 'won', page: 'a'.repeat(4_000) };
  const press = (path: string) => operator.press(path, form);
  const noted = await press(`/operator/leads/${row.id}/note`);
  expect([noted.status, noted.headers.has('set-cookie')]).toEqual([303, false]);
  expect((await press(`/operator/leads/${row.id}/progress`)).status).toBe(400);
});

test.each([
  ['an unavailable store', 'select zeroblob(2147483647)', 503, 'The service can’t reach its database right now.', 1],
  ['a row that the store refuses', "select raise(abort, 'refused')", 500, 'Something went wrong', 0],
])(
  'a page that meets %s says so, and logs an outage only if it is one',
  async (_what, statement, status, words, lines) => {
    const { write } = service.parts.storage;
    await write((tx) =>
      sql.raw(`create trigger broken before insert on operator_audit begin ${statement}; end`).execute(tx),
    );
    const before = service.logs.length;
    const answer = await operator.get('/operator/leads');
    await write((tx) => sql`drop trigger broken`.execute(tx));
    expect(answer.status).toBe(status);
    expect(answer.text).toContain(words);
    const logged = service.logs.slice(before).map((line) => JSON.parse(line));
    const found = logged.filter(({ msg }) => msg === 'the store is unavailable');
    expect(found).toHaveLength(lines);
    for (const line of found) {
      expect(line).toMatchObject({ requestId: answer.headers.get('x-request-id'), err: expect.anything() });
    }
  },
);
