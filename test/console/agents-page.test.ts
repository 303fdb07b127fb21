/** The text that an operator sees on the agents page (reference §12.17). `agents.test.ts` has the changes. */
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { digestOfToken } from '../../src/credentials/file.ts';
import type { ExecutionRow } from '../../src/storage/schema.ts';
import { previewAction } from '../support/agent.ts';
import { type TestClock, testClock } from '../support/clock.ts';
import { executionRow } from '../support/executions.ts';
import type { Service } from '../support/service.ts';
import { type Operator, signIn, startWithConsole } from './operator.ts';
import { visibleText } from './visible-text.ts';

const PAGE = '/operator/agents';

const credential = (id: string, created: string, ends: string | null = null, token = `${id} ${created}`) => ({
  id,
  sha256: digestOfToken(token),
  created_at: created,
  expires_at: ends,
});
const both = ['lead:preview', 'lead:create'];

/** Clients of the file. The time of the tests is 14:00 on 1 September 2026 in Berlin. */
const clients = [
  {
    name: 'acme',
    label: 'Acme Assistant',
    scopes: both,
    credentials: [
      credential('c_1', '2025-09-01T12:00:00.000Z', '2026-09-01T12:00:00.000Z'),
      credential('c_2', '2026-08-01T12:00:00.001Z', '2026-09-01T12:00:00.001Z'),
      credential('c_3', '2026-08-31T12:00:00.000Z'),
      credential('c_4', '2026-08-31T12:00:00.001Z'),
      credential('c_5', '2026-09-03T12:00:00.000Z'),
    ],
  },
  {
    name: 'bee.bot-2_x',
    scopes: ['lead:preview'],
    credentials: [credential('b_1', '2026-08-02T12:00:00.000Z', null, 'token of bee')],
  },
  { name: 'Cat & Sons', label: 'Cat & Sons', scopes: [], credentials: [] },
  {
    name: 'dog',
    scopes: both,
    credentials: [credential('d_1', '2026-08-03T12:00:00.000Z', null, 'token of dog')],
  },
  {
    name: 'elk',
    scopes: both,
    credentials: [credential('e_1', '2026-08-04T12:00:00.000Z', null, 'token of elk')],
  },
  {
    name: 'fox',
    sandbox: true,
    scopes: ['lead:create'],
    credentials: [credential('f_1', '2026-08-05T12:00:00.000Z')],
  },
];

const buttons = (label: string) => [
  `Rotate the credential of ${label}`,
  ...['Old tokens still work for', '1 hour', '24 hours', '7 days', 'Rotate'],
  `Revoke ${label}`,
];
const commandsOf = (name: string) =>
  ['rotate NAME --overlap 7d', 'label NAME LABEL', 'revoke NAME']
    .map((command) => `npm run credentials -- ${command.replace('NAME', name)}`)
    .join(' ');

let clock: TestClock;
let service: Service;
let operator: Operator;

const write = async (text: string) => {
  writeFileSync(service.settings.credentialsFile ?? '', text);
  await service.parts.credentials.reload();
};

beforeAll(async () => {
  clock = testClock('2026-09-01T09:00:00.000Z');
  service = await startWithConsole({ clock });
  const at = (time: string) => `2026-09-01T${time}:00.000Z`;
  const rows: Partial<ExecutionRow>[] = [
    // The newest execution has the first status of `acme`, and the last status of `dog`.
    { client: 'acme', status: 'declined', created_at: at('08:30') },
    { client: 'acme', status: 'declined', created_at: at('03:00') },
    { client: 'acme', status: 'failed', created_at: at('07:00') },
    { client: 'acme', status: 'submitted', created_at: at('08:00') },
    { client: 'acme', status: 'submitted', created_at: at('01:00') },
    { client: 'dog', status: 'asked', created_at: at('08:00') },
    { client: 'dog', status: 'submitted', created_at: at('11:30') },
    { client: 'fox', status: 'submitted', created_at: at('08:45'), sandbox: 1 },
    ...Array.from({ length: 1_000 }, () => ({ client: 'elk', created_at: at('02:00') })),
  ];
  const all = rows.map((row) => executionRow(row));
  await service.parts.storage.write(async (tx) => {
    for (let from = 0; from < all.length; from += 500) {
      await tx
        .insertInto('executions')
        .values(all.slice(from, from + 500))
        .execute();
    }
  });
  await write(JSON.stringify({ clients }));
  for (const name of ['bee', 'dog', 'elk']) {
    clock.advance(30 * 60_000);
    await previewAction(service, undefined, undefined, { token: `token of ${name}` });
  }
  clock.advance(90 * 60_000);
});
afterAll(() => service.close());
beforeEach(async () => {
  operator = await signIn(service);
  await write(JSON.stringify({ clients }));
});

/** Returns the title and the lines of a page. */
async function open(path = PAGE, who = operator) {
  const { text } = await who.get(path);
  return { title: /<title>(.*?)<\/title>/.exec(text)?.[1], lines: visibleText(text), text };
}

const heads = ['Credential ID', 'Created', 'Expires'];

describe('GET /operator/agents', () => {
  test('shows each client with its credentials, its last use and its executions', async () => {
    const { title, lines } = await open();
    expect(title).toBe('Agents · Paint Match');
    expect(lines.slice(0, 3)).toEqual(['Agents', 'Programs that may send leads for people.', '6 clients']);
    const first = lines.lastIndexOf('Issue') + 1;
    expect(lines.slice(first, -1)).toEqual([
      ...['Acme Assistant', 'acme', 'lead:preview, lead:create', 'Last used 1 Sept 2026, 10:30'],
      ...['2 declined, 1 failed, 2 submitted', ...heads, 'Action'],
      ...['c_1', '1 Sept 2025 365 days old', 'Expired 1 Sept 2026, 14:00', 'Revoke c_1 of Acme Assistant'],
      ...['c_2', '1 Aug 30 days old', '1 Sept 2026, 14:00', 'Revoke c_2 of Acme Assistant'],
      ...['c_3', '31 Aug 1 day old', 'Never', 'Revoke c_3 of Acme Assistant'],
      ...['c_4', '31 Aug 0 days old', 'Never', 'Revoke c_4 of Acme Assistant'],
      ...['c_5', '3 Sept 0 days old', 'Never', 'Revoke c_5 of Acme Assistant'],
      ...buttons('Acme Assistant'),

      ...['bee.bot-2_x', 'lead:preview', 'Last used 1 Sept 2026, 11:30', 'No executions'],
      ...[...heads, 'b_1', '2 Aug 30 days old', 'Never', ...buttons('bee.bot-2_x')],

      ...['Cat & Sons', 'No scope', 'Last use unknown', 'No executions', 'No credential', ...buttons('Cat & Sons')],

      ...['dog', 'lead:preview, lead:create', 'Last used 1 Sept 2026, 13:30', '1 asked, 1 submitted'],
      ...[...heads, 'd_1', '3 Aug 29 days old', 'Never', ...buttons('dog')],

      ...['elk', 'lead:preview, lead:create', 'Last used 1 Sept 2026, 12:30', '1,000 submitted'],
      ...[...heads, 'e_1', '4 Aug 28 days old', 'Never', ...buttons('elk')],

      ...['fox', 'Sandbox: nothing of this client is sent.', 'lead:create', 'Last use unknown'],
      ...[...heads, 'f_1', '5 Aug 27 days old', 'Never', ...buttons('fox')],
    ]);
    expect(lines.at(-1)).toMatch(/^The counts cover the newest 10,000 executions of all clients\. /);
  });

  test('counts one client as “1 client”', async () => {
    await write(JSON.stringify({ clients: clients.slice(0, 1) }));
    expect((await open()).lines[2]).toBe('1 client');
  });

  test('shows the form of a new client without values, with both scopes and without the sandbox', async () => {
    const form = /<details class="issue">[\s\S]*?<\/details>/.exec((await open()).text)?.[0] ?? '';
    const inputs = [...form.matchAll(/<input [^>]*>/g)].map(([input]) => [
      / name="(\w+)"/.exec(input)?.[1],
      / value="([^"]*)"/.exec(input)?.[1],
      / checked/.test(input),
    ]);
    expect(inputs).toEqual([
      ['name', '', false],
      ['label', '', false],
      ['expires', '', false],
      ['scope', 'lead:preview', true],
      ['scope', 'lead:create', true],
      ['sandbox', 'true', false],
    ]);
  });

  test('shows commands that a shell reads as typed while the credentials file is invalid', async () => {
    await write('{');
    const { lines } = await open();
    const first = lines.indexOf('6 clients') + 1;
    const inCommands = lines.slice(first, -1).filter((line) => /^npm run/.test(line));
    expect(inCommands).toEqual([
      'npm run credentials -- issue NAME --label LABEL --sandbox',
      ...['acme', 'bee.bot-2_x', 'NAME', 'dog', 'elk', 'fox'].map(commandsOf),
    ]);
  });

  test('explains the setting and shows no client if the service has no credentials file', async () => {
    // Local mode always has such a file, and production needs a BASE_URL with https.
    const production = { NODE_ENV: 'production', BASE_URL: 'https://operator.example', OPERATOR_CONSOLE: 'on' };
    const without = await startWithConsole({ clock, environment: { ...production, AGENT_CREDENTIALS_FILE: '' } });
    const here = { ...without, url: `http://127.0.0.1:${without.settings.port}` };
    const { lines } = await open(PAGE, await signIn(here));
    await without.close();
    expect(lines.slice(2)).toEqual([
      expect.stringMatching(/^AGENT_CREDENTIALS_FILE is not set, so no agent can call this service\./),
      '0 clients',
      'npm run credentials -- issue NAME --label LABEL --sandbox',
      'No agent can call this service yet.',
      expect.stringMatching(/^The counts cover .* Times are in Europe\/Berlin\.$/),
    ]);
  });
});

describe('GET /operator/agents?revoke', () => {
  const now = 'at once, in other instances within 5 seconds.';
  const whole = [
    'People can no longer confirm pending requests of this client.',
    'Leads and receipts of this client remain stored.',
    'A revoked token can’t be restored. To replace the token only, rotate the credential instead.',
    ...['Revoke', 'Cancel'],
  ];

  test.each<[string, string, string[]]>([
    [
      'all credentials of a client',
      'revoke=acme',
      [
        ...['Revoke Acme Assistant?', 'acme', 'What happens'],
        `The client and all its credentials are removed. The client’s tokens stop working ${now}`,
        ...whole,
      ],
    ],
    [
      'a client by its only credential',
      'revoke=dog&credential=d_1',
      [
        ...['Revoke d_1 of dog?', 'What happens'],
        `The client and its credential d_1 are removed. The client’s tokens stop working ${now}`,
        ...whole,
      ],
    ],
    [
      'one of several credentials',
      'revoke=acme&credential=c_3',
      [
        ...['Revoke c_3 of Acme Assistant?', 'acme', 'What happens'],
        `The token of c_3 stops working ${now}`,
        ...['The client’s other tokens still work.', 'A revoked token can’t be restored.', 'Revoke', 'Cancel'],
      ],
    ],
  ])('explains the revocation of %s', async (_what, query, expected) => {
    const { title, lines } = await open(`${PAGE}?${query}`);
    expect(title).toBe('Revoke · Paint Match');
    expect(lines).toEqual(expected);
  });
});
