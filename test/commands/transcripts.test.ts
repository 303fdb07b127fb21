/**
 * Whole output of the commands, compared with the files in `transcripts`. `npx vitest run transcripts -u` records a
 * change.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { openSqlite } from '../../src/storage/sqlite/store.ts';
import { clientOf } from '../credentials/credentials-file.ts';
import { signedReceiptFile } from '../support/signed-receipt.ts';
import { keepRows, submissionRow } from '../support/submissions.ts';
import { runService, temporaryFolder } from './run-service.ts';
import { transcriptOf } from './transcript.ts';

vi.setConfig({ testTimeout: 60_000 });

const record = (name: string) => `transcripts/${name}.txt`;

const id = (number: number) => `0190a00${number}-0000-7000-8000-00000000000${number}`;

/** Opens a new database in the folder `data` of a new folder, and returns the folder. */
async function folderWith(fill: (storage: Awaited<ReturnType<typeof openSqlite>>) => Promise<unknown>) {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'data'));
  const storage = await openSqlite(join(folder, 'data/service.db'), systemClock);
  await fill(storage);
  await storage.close();
  return folder;
}

test('credentials prints what its record has', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'agents.json');
  const environment = { AGENT_CREDENTIALS_FILE: path };
  const lines = [
    'credentials list',
    'credentials list --json',
    'credentials issue acme',
    'credentials issue acme',
    'credentials issue painter --label "Jo’s Painter" --scope lead:preview --expires 2199-01-01 --json',
    'credentials issue test --sandbox --scope lead:create --scope lead:preview',
    'credentials issue bad --scope lead:none',
    'credentials issue bad --scope lead:preview --scope lead:none',
    'credentials issue "a b"',
    'credentials issue bad --label ""',
    'credentials issue bad --expires 2020-01-01',
    'credentials issue bad --expires soon',
    'credentials rotate acme --overlap 7d',
    'credentials rotate acme --json',
    'credentials rotate painter --overlap 90m --expires 2198-01-01',
    'credentials rotate nobody',
    'credentials rotate acme --overlap soon',
    'credentials rotate acme --overlap 1d1',
    'credentials rotate acme --overlap x1d',
    'credentials label acme "Acme Assistant"',
    'credentials label acme Acme --json',
    'credentials label nobody Acme',
    'credentials list',
    'credentials list --json',
    'credentials revoke acme',
    'credentials revoke acme --credential c_9',
    'credentials revoke acme --credential c_9 --yes',
    'credentials revoke acme --credential c_1 --yes --json',
    'credentials revoke acme --yes --json',
    'credentials revoke test --yes',
    'credentials revoke nobody --yes',
    'NODE_ENV=production AGENT_CREDENTIALS_FILE= BASE_URL=https://x.example credentials list',
  ];
  const issued = await transcriptOf(folder, environment, lines);
  writeFileSync(path, JSON.stringify({ clients: [clientOf('old', ['x'], [], '2021-01-01T00:00:00.000Z')] }));
  const expired = await transcriptOf(folder, environment, ['credentials list', 'credentials list --json']);
  await expect(`${issued}\n${expired}`).toMatchFileSnapshot(record('credentials'));
});

/** Submissions of every kind that a list can show, each a minute later than the one before. */
const submissions = [
  submissionRow({ id: id(1), receivedAt: '2026-09-01T12:01:00.000Z', stored_here: 1 }),
  submissionRow({
    id: id(2),
    receivedAt: '2026-09-01T12:02:00.000Z',
    form: 'homeowner_quote',
    origin: 'agent',
    status: 'undelivered',
    reason: 'execution_failed',
    progress: 'answered',
    note: 'Called,\tno answer.\nCall again.',
    attempts: [
      { outcome: 'unconfirmed', ms: 9, http_status: 503 },
      { outcome: 'unconfirmed', ms: 10_000, http_status: null },
    ],
    fields: {
      name: 'Ada Augusta King of Lovelace, the Countess',
      email: `ada@${'long-name.'.repeat(5)}xn--pple-43d.example`,
      postal_code: '1000',
      phone: '+1 555 0100',
    },
    data: {
      recipient: { id: 'c-1', name: 'Painters, Ltd' },
      client: 'acme',
      consent_recorded_at: '2026-09-01T12:00:00.000Z',
    },
  }),
  submissionRow({
    id: id(3),
    receivedAt: '2026-09-01T12:03:00.000Z',
    status: 'waiting',
    next_attempt_ms: Date.parse('2026-09-01T12:30:00.000Z'),
    attempts: [{ outcome: 'rateLimited', ms: 1, http_status: 429 }],
    fields: { name: 'Eve', email: 'eve@example.com', subject: 'Red\nand blue', message: 'One\n\ttwo' },
  }),
  submissionRow({
    id: id(4),
    receivedAt: '2026-09-01T12:04:00.000Z',
    form: 'newsletter',
    status: 'undelivered',
    reason: 'attempts_used_up',
    fields: { email: 'reader@example.com' },
  }),
  submissionRow({
    id: id(5),
    receivedAt: '2026-09-01T12:05:00.000Z',
    status: 'dismissed',
    reason: 'spam',
    progress: 'spam',
  }),
  submissionRow({ id: id(6), receivedAt: '2026-09-01T12:06:00.000Z', status: 'sending', progress: 'won' }),
];

test('inbox prints what its record has', async () => {
  const folder = await folderWith(async () => {});
  const filled = await folderWith((storage) => keepRows(storage, submissions));
  const mail = { 'one.eml': 'eve', 'two.eml': 'eve', 'three.eml': 'ada' };
  mkdirSync(join(filled, 'data/mail'));
  for (const [name, to] of Object.entries(mail)) {
    writeFileSync(join(filled, 'data/mail', name), `To: ${to}@example.com\r\n\r\nHello`);
  }
  const before = await transcriptOf(folder, { DATA_DIR: join(folder, 'data') }, [
    'inbox list',
    'inbox list --form contact',
    'inbox list --json',
  ]);
  const all = await transcriptOf(filled, { DATA_DIR: join(filled, 'data'), OPERATOR_TIME_ZONE: 'Europe/Berlin' }, [
    'inbox list',
    'inbox list --json',
    'inbox list --limit 2',
    'inbox list --limit 1 --status undelivered',
    'inbox list --limit 10a',
    'inbox list --limit a10',
    'inbox list --limit 1000000',
    'inbox list --form newsletter',
    'inbox list --form leter',
    'inbox list --origin agent',
    'inbox list --agent acme',
    'inbox list --agent ""',
    'inbox list --progress answered',
    'inbox list --search "lovelace 1000"',
    'inbox list --search nothing',
    'inbox list --search " "',
    'inbox list --since 2026-09-01T12:04:00Z --until 2026-09-01T12:06:00Z',
    'inbox list --since 2026-09-02',
    'inbox list --since yesterday',
    `inbox show ${id(1)}`,
    `inbox show ${id(2)}`,
    `inbox show ${id(3).slice(0, 13)}`,
    `inbox show ${id(4)}`,
    `inbox show ${id(5)}`,
    `inbox show ${id(6)} --json`,
    'inbox show 0190a00',
    'inbox show 0190b',
    'inbox show %',
    'inbox show ""',
    'inbox exprot',
    'inbox list --limt 3',
    'inbox list --limit 0',
    'inbox export --json --limit -1',
    'inbox list --until 2026-02-30',
    'inbox list --status lost',
    'inbox list --origin robot',
    'inbox export --progress old',
    'inbox export',
    'inbox export --format xml',
    'inbox export --format csv',
    'inbox export --format jsonl --status undelivered',
    'inbox export --json --limit 1',
    'inbox export --format csv --limit 2 --email ada@example.com',
    'inbox export --email - < ADA@example.com',
    'inbox export --email - < ada',
    'inbox export --email eve@example.com --json',
    'NODE_ENV=production BASE_URL=https://x.example inbox list --limit 1',
    'inbox dismiss',
    `inbox dismiss ${id(1)} ${id(2)} ${id(3)} ${id(5)} ${id(6)} ${id(7)} ada@example.com --reason answered`,
    `inbox dismiss ${id(4)} --json`,
    `inbox dismiss ${id(4)} --json`,
    `inbox dismiss ${id(4)} --reason spma`,
    'inbox resend',
    `inbox resend ${id(1)} --undelivered`,
    'inbox resend --undelivered',
    `inbox resend ${id(2)} ${id(6)} ${id(7)}-1 x.y --json`,
    `inbox show ${id(4)}`,
  ]);
  await expect(`${before}\n${all}`).toMatchFileSnapshot(record('inbox'));
});

test('subscribers prints what its record has', async () => {
  const row = (number: number, status: 'pending' | 'confirmed' | 'unsubscribed') => ({
    ...{ id: id(number), email: `reader${number}@example.com`, contractor: 'direct', status, made_by: `s-${number}` },
    ...{ confirm_token: `c-${number}`, leave_token: `l-${number}`, created_at: `2026-09-0${number}T12:00:00.000Z` },
    consent_recorded_at: '2026-09-01T12:00:00.000Z',
    expires_at: status === 'pending' ? '2026-09-08T12:00:00.000Z' : null,
    confirmed_at: status === 'pending' ? null : '2026-09-01T13:00:00.000Z',
    unsubscribed_at: status === 'unsubscribed' ? '2026-09-02T12:00:00.000Z' : null,
  });
  const rows = [row(1, 'pending'), row(2, 'confirmed'), row(3, 'unsubscribed'), row(4, 'confirmed')];
  const empty = await folderWith(async () => {});
  const folder = await folderWith((storage) =>
    storage.write((tx) => tx.insertInto('subscribers').values(rows).execute()),
  );
  const first = ['subscribers list', 'subscribers list --status pending', 'subscribers list --search a'];
  const before = await transcriptOf(empty, { DATA_DIR: join(empty, 'data') }, first);
  const all = await transcriptOf(folder, { DATA_DIR: join(folder, 'data'), BASE_URL: 'https://news.example' }, [
    'subscribers list',
    'subscribers list --json',
    'subscribers list --limit 3',
    'subscribers list --limit 4',
    'subscribers list --status confirmed',
    'subscribers list --status confirmd',
    'subscribers list --status bounced',
    'subscribers list --limit 0',
    'subscribers list --search READER3',
    'subscribers list --search " "',
    'subscribers export',
    'subscribers export --format csv',
    'subscribers export --format jsonl --status all --limit 2',
    'subscribers export --json --search reader4',
  ]);
  await expect(`${before}\n${all}`).toMatchFileSnapshot(record('subscribers'));
});

test('backup, restore and erase print what their records have', async () => {
  const leaving = (number: number, email: string) =>
    submissionRow({
      id: id(number),
      form: 'newsletter',
      status: 'waiting',
      subscriber: email,
      fields: { email },
    });
  const unsubscribed = (number: number, email: string) => {
    const row = leaving(number, email);
    return { ...row, subscriber: null, event: row.event.replace('subscriber.created', 'subscriber.unsubscribed') };
  };
  const folder = await folderWith((storage) =>
    keepRows(storage, [
      submissionRow({ id: id(1) }),
      submissionRow({ id: id(2), fields: { name: 'Eve', email: 'eve@example.com' } }),
      submissionRow({ id: id(3), fields: { name: 'Eve', email: 'eve@example.com' }, status: 'sending' }),
      leaving(4, 'reader@example.com'),
      unsubscribed(5, 'leaver@example.com'),
      unsubscribed(6, 'other@example.com'),
      unsubscribed(7, 'other@example.com'),
    ]),
  );
  writeFileSync(join(folder, 'empty'), '');
  writeFileSync(join(folder, 'other'), 'SQLite format 3');
  writeFileSync(join(folder, 'dump'), 'PGDMP and more');
  writeFileSync(join(folder, 'near'), ' PGDMP SQLite format 3\0');
  const environment = { DATA_DIR: join(folder, 'data') };
  const copies = await transcriptOf(folder, environment, [
    'backup',
    'backup copy.db',
    'backup copy.db',
    'backup copy2.db --json',
    'backup none/copy.db',
    'DATA_DIR=none backup copy3.db',
    'restore',
    'restore missing',
    'restore data',
    'restore empty --yes',
    'restore other --yes',
    'restore dump --yes',
    'restore near --yes',
    'restore copy.db',
    'restore copy.db --yes',
    'restore copy2.db --yes --json',
    'DATABASE_URL=postgres://127.0.0.1/none restore copy.db',
  ]);
  await expect(copies.replace(/^\d+(?= bytes)|(?<="bytes":)\d+/gm, 'SIZE')).toMatchFileSnapshot(record('backup'));
  const erased = await transcriptOf(folder, environment, [
    'erase',
    'erase ada',
    'erase - < ada',
    'erase - --yes',
    'erase ada@example.com',
    'erase - --dry-run < ADA@example.com',
    'erase eve@example.com --dry-run --json',
    'erase eve@example.com --yes',
    'UPSTREAM_URL=http://127.0.0.1:1 erase reader@example.com --yes',
    'erase leaver@example.com --yes',
    'erase other@example.com --yes',
    'erase ada@example.com --yes --json',
    'erase ada@example.com --json',
    'DATA_DIR=none erase ada@example.com',
  ]);
  await expect(erased).toMatchFileSnapshot(record('erase'));
});

test('other commands print what their record has', async () => {
  const folder = temporaryFolder();
  const environment = { DATA_DIR: join(folder, 'data') };
  signedReceiptFile(folder, { name: 'Ada', message: 'One\ntwo' });
  writeFileSync(join(folder, 'none.jwks'), '{"keys":3}');
  const lines = [
    'start --port 4000',
    'start --json',
    'credentails list',
    'settings extra',
    'settings --jsn',
    'settings --zzzzzzzz',
    'settings --json=yes',
    'credentials',
    'credentials --jsn',
    'credentials issue',
    'credentials issue acme --scope',
    'credentials revok acme',
    'doctor --mail-to nobody',
    'doctor --no-sned',
    'settings credentials',
    'PORT=x LOG_LEVEL=loud UPSTREAM_SECRET=canary settings',
    'operator',
    'operator link',
    'operator link --name Jo',
    'verify-receipt',
    'verify-receipt none.json',
    'verify-receipt receipt.json unsigned.json',
    'verify-receipt receipt.json --key x',
    'verify-receipt receipt.json --jwks none.json',
    'verify-receipt receipt.json --jwks none.jwks',
    'verify-receipt receipt.json --jwks http://127.0.0.1:1/',
    'verify-receipt receipt.json --jwks jwks.json',
    'verify-receipt receipt.json --jwks jwks.json --json',
    'verify-receipt receipt.json --jwks jwks.json --issuer https://paint.example/',
    'verify-receipt receipt.json --jwks jwks.json --issuer https://paint.example --json',
    'BASE_URL=https://paint.example verify-receipt unsigned.json --jwks jwks.json',
    'demo --url ftp://x.example',
    'demo --url http://user@x.example',
    'demo --url https://x.example/',
    'demo --url http://127.0.0.1:1/',
    'DATABASE_URL=postgres://127.0.0.1:1/none inbox list',
  ];
  await expect(await transcriptOf(folder, environment, lines)).toMatchFileSnapshot(record('other'));
});

test.each([
  ['credentials revoke acme', 'Revoke every credential of acme? [y/N]', 'Nothing was revoked.', 1],
  ['erase ada@example.com', 'Erase 1 lead, ', 'Nothing was erased.', 1],
  ['restore copy.db', 'with this backup? [y/N]', 'Nothing was replaced.', 1],
  ['demo --url http://service.invalid', 'Send the data? [y/N]', 'Nothing was sent.', 0],
])('%s asks at a terminal, and changes nothing without a yes', async (line, question, refusal, expected) => {
  const folder = await folderWith((storage) => keepRows(storage, [submissionRow({ id: id(1) })]));
  const environment = { DATA_DIR: join(folder, 'data'), AGENT_CREDENTIALS_FILE: join(folder, 'agents.json') };
  await transcriptOf(folder, environment, ['credentials issue acme', 'backup copy.db']);
  const atTerminal = 'data:text/javascript,for (const name of ["stdin", "stderr"]) process[name].isTTY = true';
  const options = { folder, environment, nodeOptions: ['--import', atTerminal], input: 'n\n' };
  const { status, stderr } = await runService(line.split(' '), options);
  expect([status, stderr]).toEqual([expected, expect.stringContaining(question)]);
  expect(stderr.trimEnd().endsWith(refusal)).toBe(true);
});
