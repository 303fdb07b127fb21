/** Output of every command with text from others that could steer a terminal or hide (ASVS 1.1.2). */
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { forms } from '../../src/forms/catalog.ts';
import { systemClock } from '../../src/platform/clock.ts';
import type { SubscriberRow } from '../../src/storage/schema.ts';
import { openSqlite } from '../../src/storage/sqlite/store.ts';
import { forgedLine, hostile, hostileIn, legitimateNames } from '../support/hostile.ts';
import { signedReceiptFile } from '../support/signed-receipt.ts';
import { keepRows, submissionRow } from '../support/submissions.ts';
import { runService, temporaryFolder } from './run-service.ts';

const ID = '0190a000-0000-7000-8000-000000000001';
const fields = { name: hostile, email: `${hostile}@example.com`, subject: hostile, message: 'Hi' };
const at = '2026-09-01T12:00:00.000Z';
const lineOnly = hostile.replaceAll(/\p{Cc}/gu, '');

let folder: string;
let environment: Record<string, string>;
let server: Server;
let url: string;
const run = (args: string[], more: Record<string, string> = {}) =>
  runService(args, { folder, environment: { ...environment, ...more } });

beforeAll(async () => {
  folder = temporaryFolder();
  environment = { DATA_DIR: join(folder, 'data'), AGENT_CREDENTIALS_FILE: join(folder, 'a.json') };
  mkdirSync(join(folder, 'data'));
  const storage = await openSqlite(join(folder, 'data/service.db'), systemClock);
  const data = { recipient: { id: 'c', name: hostile }, client: hostile };
  await keepRows(storage, [
    submissionRow({ id: ID, origin: 'agent', fields, data }),
    ...legitimateNames.map((name) => submissionRow({ receivedAt: '2026-08-01T12:00:00.000Z', fields: { name } })),
  ]);
  const subscriber: SubscriberRow = {
    ...{
      id: ID,
      email: `${hostile}@example.com`,
      contractor: hostile,
      status: 'confirmed' as const,
    },
    ...{ made_by: 's', confirm_token: 'c', leave_token: 'l', created_at: at },
    ...{ consent_recorded_at: at, expires_at: null, confirmed_at: at, unsubscribed_at: null },
  };
  await storage.write((tx) => tx.insertInto('subscribers').values(subscriber).execute());
  await storage.close();

  const sha256 = createHash('sha256').update('token').digest('hex');
  const credentials = [{ id: 'c_1', sha256, created_at: at, expires_at: null }];
  const clients = [{ name: lineOnly, scopes: ['lead:preview'], credentials }];
  writeFileSync(join(folder, 'a.json'), JSON.stringify({ clients }));
  signedReceiptFile(folder, { [hostile]: hostile });
  // The first step of the demo succeeds. The server refuses the second one with hostile text.
  server = createServer((request, response) => {
    const actions = [...Object.keys(forms), hostile].map((action) => ({ action }));
    const body = request.method === 'GET' ? { version: hostile, actions } : { ok: false, error: hostile };
    response.writeHead(request.method === 'GET' ? 200 : 400).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  writeFileSync(join(folder, 'token'), 'token');
});
afterAll(() => server.close());

const receipt = ['--issuer', 'https://paint.example', '--jwks', 'jwks.json'];
const demo = () => ['--url', url, '--token-file', 'token', '--yes'];

describe('commands with hostile characters in their data', () => {
  test.each<[string, () => string[], string]>([
    ['inbox list', () => ['inbox', 'list', '--origin', 'agent'], ID.slice(0, 13)],
    ['inbox list --json', () => ['inbox', 'list', '--json', '--origin', 'agent'], 'FORGED'],
    ['inbox show', () => ['inbox', 'show', ID], 'FORGED'],
    ['inbox show --json', () => ['inbox', 'show', ID, '--json'], 'FORGED'],
    ['inbox export', () => ['inbox', 'export', '--format', 'jsonl', '--origin', 'agent'], 'FORGED'],
    ['inbox resend', () => ['inbox', 'resend', hostile], 'no id'],
    ['inbox dismiss', () => ['inbox', 'dismiss', hostile], 'no id'],
    ['inbox list --status', () => ['inbox', 'list', '--status', hostile], 'FORGED'],
    ['subscribers list', () => ['subscribers', 'list'], 'FORGED'],
    ['subscribers list --json', () => ['subscribers', 'list', '--json'], 'FORGED'],
    ['subscribers export', () => ['subscribers', 'export', '--format', 'jsonl'], 'FORGED'],
    ['credentials list', () => ['credentials', 'list'], ''],
    ['credentials list --json', () => ['credentials', 'list', '--json'], ''],
    ['credentials revoke', () => ['credentials', 'revoke', hostile, '--yes'], ''],
    ['credentials rotate', () => ['credentials', 'rotate', lineOnly], ''],
    ['doctor', () => ['doctor', '--no-send'], 'database'],
    ['doctor --json', () => ['doctor', '--no-send', '--json'], 'database'],
    ['erase', () => ['erase', `${hostile}@example.com`, '--dry-run'], ''],
    ['operator link', () => ['operator', 'link', '--name', hostile], ''],
    ['backup', () => ['backup', `none/${hostile}`], 'could not be written'],
    ['backup --json', () => ['backup', hostile, '--json'], 'FORGED'],
    ['restore', () => ['restore', `${hostile}-2`], 'ENOENT'],
    ['verify-receipt', () => ['verify-receipt', 'receipt.json', ...receipt], 'FORGED'],
    ['verify-receipt --json', () => ['verify-receipt', 'receipt.json', '--json', ...receipt], 'x'],
    ['verify-receipt with an unsigned receipt', () => ['verify-receipt', 'unsigned.json', ...receipt], 'FORGED'],
    ['verify-receipt with a missing file', () => ['verify-receipt', `${hostile}-3`, ...receipt], 'FORGED'],
    ['verify-receipt with a hostile issuer', () => ['verify-receipt', 'receipt.json', '--issuer', hostile], ''],
    ['demo', () => ['demo', ...demo()], 'FORGED'],
    ['demo --json', () => ['demo', '--json', ...demo()], 'FORGED'],
    ['an unknown command', () => [hostile], 'FORGED'],
    ['an unknown subcommand', () => ['inbox', hostile], 'FORGED'],
    ['an unknown option', () => ['inbox', 'list', `--${hostile}`], 'FORGED'],
    ['start with an argument', () => ['start', hostile], ''],
  ])('%s prints each hostile character as an escape', async (_name, args, shown) => {
    const ran = await run(args());
    expect(hostileIn(ran.stdout + ran.stderr)).toEqual([]);
    expect(ran.stdout + ran.stderr).toContain(shown);
  });

  test.each([[['settings']], [['settings', '--json']]])(
    '%j prints each hostile character of a path as an escape',
    async (args) => {
      const ran = await run(args, { DATA_DIR: join(folder, lineOnly) });
      expect(hostileIn(ran.stdout + ran.stderr)).toEqual([]);
      expect(ran.stdout).toContain('FORGED');
    },
  );

  test.each(['settings', 'start'])(
    '%s prints each hostile character of invalid settings as an escape',
    async (command) => {
      writeFileSync(join(folder, '.env'), `${lineOnly}\nLOG_LEVEL=${lineOnly}\n`);
      const ran = await run([command], { [`PORT_${lineOnly}`]: 'x', DATABASE_URL: hostile });
      writeFileSync(join(folder, '.env'), '');
      expect(ran.status).toBe(78);
      expect(hostileIn(ran.stdout + ran.stderr)).toEqual([]);
    },
  );

  test('start prints each hostile character as an escape if the folder can’t be created', async () => {
    writeFileSync(join(folder, 'file'), '');
    writeFileSync(join(folder, 'good.json'), '{"clients":[]}');
    const ran = await run(['start'], {
      DATA_DIR: join(folder, 'file', lineOnly),
      AGENT_CREDENTIALS_FILE: join(folder, 'good.json'),
    });
    expect(ran).toMatchObject({ status: 1, stderr: expect.stringContaining('FORGED') });
    expect(hostileIn(ran.stdout + ran.stderr)).toEqual([]);
  });
});

describe('commands that write data', () => {
  test('write hostile characters as escapes in JSON, which parse to the stored text', async () => {
    const { stdout } = await run(['inbox', 'show', ID, '--json']);
    expect(JSON.parse(stdout).data).toMatchObject({ fields, client: hostile });
    const shown = await run(['verify-receipt', 'receipt.json', '--json', ...receipt]);
    expect(JSON.parse(shown.stdout).fields).toEqual({ [hostile]: hostile });
  });

  test('write hostile characters unchanged in CSV to a file or pipe', async () => {
    const { stdout } = await run(['inbox', 'export', '--format', 'csv', '--origin', 'agent']);
    expect(stdout).toContain(`,"${hostile}",`);
    const list = await run(['subscribers', 'export', '--format', 'csv']);
    expect(list.stdout).toContain(`,"${hostile}",`);
  });

  test('write unusual but legitimate names of people unchanged', async () => {
    const { stdout } = await run(['inbox', 'list', '--until', '2026-08-02']);
    for (const name of legitimateNames) expect(stdout).toContain(`  ${name}\n`);
  });
});

test('verify-receipt prints one line for a field whose name contains line breaks', async () => {
  const { status, stdout } = await run(['verify-receipt', 'receipt.json', ...receipt]);
  expect(status).toBe(0);
  expect(stdout.split('\n').filter((line) => line.includes(forgedLine))).toHaveLength(1);
});
