import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { inboxTable } from '../../src/commands/inbox/formats.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { openSqlite } from '../../src/storage/sqlite/store.ts';
import { submissionFormats } from '../../src/submissions/read/export.ts';
import { clientOf } from '../credentials/credentials-file.ts';
import { project } from '../support/program.ts';
import { eventOf, keepRows, keptSubmission, RECEIVED, submissionRow } from '../support/submissions.ts';
import { runService, temporaryFolder } from './run-service.ts';

/** More than two pages of the export. */
const LEADS = 1_100;

const LEAD = (index: number) => `0190a000-0000-7000-8000-${String(index).padStart(12, '0')}`;
const QUOTE = '0190b111-0000-7000-8000-000000000001';

let dataDir: string;
const inbox = (...args: string[]) => runService(['inbox', ...args], { environment: { DATA_DIR: dataDir } });
const idsIn = (stdout: string) =>
  stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).data.id);

beforeAll(async () => {
  dataDir = join(temporaryFolder(), 'data');
  mkdirSync(dataDir, { recursive: true });
  const storage = await openSqlite(join(dataDir, 'service.db'), systemClock);
  const leads = Array.from({ length: LEADS }, (_, index) =>
    // Many rows share a time, so that pages could lose or repeat them.
    submissionRow({
      id: LEAD(index),
      stored_here: 1,
      fields: {
        name: 'Ada',
        email: `ada${index}@example.com`,
        subject: 'Hello',
        message: `line one\nline ${index}`,
      },
    }),
  );
  const quote = submissionRow({
    id: QUOTE,
    form: 'homeowner_quote',
    origin: 'agent',
    receivedAt: '2026-09-03T00:00:01.000Z',
    status: 'undelivered',
    reason: 'execution_failed',
    progress: 'won',
    note: 'Called, sent an offer',
    attempts: [
      { outcome: 'unconfirmed', ms: 9, http_status: 503 },
      { outcome: 'unconfirmed', ms: 10_000, http_status: null },
    ],
    fields: {
      name: '=HYPERLINK("x")',
      email: 'ada@xn--pple-43d.example',
      postal_code: '1000',
      phone: '+1 555 0100',
    },
    data: {
      recipient: { id: 'c-1', name: 'Painters, Ltd' },
      client: 'acme',
      consent_recorded_at: '2026-09-03T00:00:00.000Z',
    },
  });
  await keepRows(storage, [...leads, quote]);
  await storage.close();
});

describe('inbox list', () => {
  test('finds submissions by the label of their client, and finds none if the credentials file can’t be read', async () => {
    const file = join(dataDir, 'agents.json');
    const find = async () =>
      idsIn((await inbox('list', '--search', 'paint assistánt', '--json')).stdout || '{"data":{}}');
    expect(await find()).toEqual([undefined]);
    writeFileSync(file, JSON.stringify({ clients: [{ ...clientOf('acme', []), label: 'Acme Paint Assistant' }] }));
    expect(await find()).toEqual([QUOTE]);
    writeFileSync(file, '{');
    expect(await find()).toEqual([undefined]);
    rmSync(file);
  });

  test('prints a table, newest first, and marks an e-mail domain of mixed scripts', async () => {
    const ran = await inbox('list', '--limit', '2');
    const [head, first, who, second, whoElse, ...rest] = ran.stdout.trimEnd().split('\n');
    expect(head).toMatch(/^RECEIVED +ID +STATUS +FORM +FROM$/);
    expect(first).toMatch(/^2026-09-03 00:00Z +0190b111\S+ +undelivered +homeowner_quote +acme$/);
    expect(who).toMatch(/^ +=HYPERLINK.*@xn--pple-43d.example \(mixed scripts\), 1000, \+1 555 0100$/);
    expect(second).toMatch(/^\S+ \S+ +\S+ +delivered +contact +browser$/);
    expect(whoElse).toMatch(/^ +Ada, ada1099@example.com, Hello, line one line 1099$/);
    expect(rest).toEqual([]);
    expect(ran.stderr).toMatch(
      /^Showing 2 of 1\d\d\d\. Use --limit for more\. For a file, use `export --format csv` with the same filters\.$/m,
    );
  });

  test('filters by form and date', async () => {
    const quotes = await inbox('list', '--form', 'homeowner_quote', '--json');
    expect(idsIn(quotes.stdout)).toEqual([QUOTE]);
    expect((await inbox('list', '--form', 'homeowner_quote')).stderr).toMatch(/^Showing 1\. For a file, /m);
    const late = await inbox('list', '--since', '2026-09-04');
    expect(late).toMatchObject({ status: 0, stdout: '' });
    expect(late.stderr).toMatch(/^Nothing matches\.$/m);
  });
});

describe.each(['list', 'export'])('inbox %s with --progress and --agent', (subcommand) => {
  test('finds the submissions that match one option or both', async () => {
    const found = (...args: string[]) => inbox(subcommand, '--json', '--limit', '3', ...args);
    for (const args of [
      ['--progress', 'won'],
      ['--agent', 'acme'],
      ['--progress', 'won', '--agent', 'acme'],
    ]) {
      expect(idsIn((await found(...args)).stdout)).toEqual([QUOTE]);
    }
    expect(idsIn((await found('--progress', 'new')).stdout)).toHaveLength(3);
    expect((await found('--agent', 'acm')).stdout).toBe('');
  });
});

describe('inbox show', () => {
  test('finds a submission by the beginning of its id', async () => {
    const ran = await inbox('show', '0190B1');
    expect(ran.stdout).toMatch(/^recipient +Painters, Ltd$/m);
    expect(ran.stdout).toMatch(/^phone +\+1 555 0100$/m);
    expect(ran.stdout).toMatch(/^status +undelivered \(execution_failed\)$/m);
    expect(ran.stdout).toMatch(
      /^attempt +\S+Z {2}unconfirmed, HTTP 503, after 9 ms \(first\)\nattempt +\S+Z {2}unconfirmed after 10000 ms \(first\)$/m,
    );
    expect(ran.stdout).toMatch(/^warning +the e-mail domain mixes scripts$/m);
    expect(ran.stdout).toMatch(/^reference +0000-0001$/m);
    expect(ran.stdout).toMatch(/^progress +won$/m);
    expect(ran.stdout).toMatch(/^note +Called, sent an offer$/m);
    expect(JSON.parse((await inbox('show', '0190b', '--json')).stdout).data.client).toBe('acme');
  });
});

describe('inbox export', () => {
  test('writes every event once, oldest first, as JSON lines', async () => {
    const { stdout, stderr } = await inbox('export', '--format', 'jsonl');
    expect(stderr).toBe('');
    const leads = Array.from({ length: LEADS }, (_, index) => LEAD(index));
    expect(idsIn(stdout)).toEqual([...leads, QUOTE]);
  });

  test('stops after --limit events', async () => {
    const { stdout } = await inbox('export', '--format', 'jsonl', '--limit', '501');
    expect(idsIn(stdout)).toEqual(Array.from({ length: 501 }, (_, index) => LEAD(index)));
  });

  test('finds the events of one person with --email in any letter case', async () => {
    const environment = { DATA_DIR: dataDir };
    const ran = await runService(['inbox', 'export', '--email', '-'], {
      environment,
      input: ' ADA7@Example.com\n',
    });
    expect([ran.status, idsIn(ran.stdout)]).toEqual([0, [LEAD(7)]]);
    expect(ran.stderr).toContain('everything about this person in the database');
    expect(ran.stderr).not.toMatch(/ada7/i);
    const none = await inbox('export', '--email', 'ada');
    expect(none).toMatchObject({ status: 2, stdout: '' });
  });

  test('writes delivery status and attempts into each JSON line', async () => {
    const { stdout } = await inbox('export', '--json', '--origin', 'agent');
    expect(JSON.parse(stdout)).toMatchObject({
      received_at: '2026-09-03T00:00:01.000Z',
      type: 'lead.created',
      data: { id: QUOTE, fields: { phone: '+1 555 0100' } },
      status: 'undelivered',
      reason: 'execution_failed',
      progress: 'won',
      note: 'Called, sent an offer',
      next_attempt_at: null,
      attempts: [
        { at: RECEIVED, ms: 9, outcome: 'unconfirmed', by: 'first', http_status: 503 },
        { at: RECEIVED, ms: 10_000, outcome: 'unconfirmed', by: 'first', http_status: null },
      ],
    });
  });

  test('writes a CSV with times in OPERATOR_TIME_ZONE and without formulas', async () => {
    const environment = { DATA_DIR: dataDir, OPERATOR_TIME_ZONE: 'America/Los_Angeles' };
    const args = ['inbox', 'export', '--format', 'csv', '--since', '2026-09-02'];
    const { head } = submissionFormats('UTC');
    const columns = head.split(',');
    const emptyCells = ','.repeat(columns.indexOf('note') - columns.indexOf('postal_code'));
    expect((await runService(args, { environment })).stdout).toBe(
      `${head}2026-09-02 17:00:01,homeowner_quote,won,"'=HYPERLINK(""x"")",ada@xn--pple-43d.example,+1 555 0100,1000${emptyCells}"Called, sent an offer",agent,acme,undelivered,${QUOTE},2026-09-02 17:00:00\r\n`,
    );
  });

  test('exits with 0 if the program that reads the output closes the pipe', async () => {
    const entry = join(project, 'bin/service.js');
    const env = { PATH: process.env.PATH ?? '', DATA_DIR: dataDir };
    const child = spawn(process.execPath, [entry, 'inbox', 'export', '--format', 'jsonl'], { env });
    let stderr = '';
    child.stderr.on('data', (text) => {
      stderr += text;
    });
    child.stdout.once('data', () => child.stdout.destroy());
    const [status] = await once(child, 'close');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });
});

test('inboxTable is at most 80 columns wide, and inbox show accepts its shortened ids', async () => {
  const long = 'Lore\nipsum '.repeat(30);
  const items = [1, 2].map((number) => {
    const item = keptSubmission(
      eventOf({ fields: { name: long, email: `${'a'.repeat(60)}@example.com`, message: long } }),
    );
    const data = { ...item.event.data, client: 'c'.repeat(60) };
    // Both ids are from the same millisecond (UUID version 7).
    data.id = `0190b111-1234-7${number}23-8000-000000000000`;
    return { ...item, event: { ...item.event, data } };
  });
  const lines = inboxTable(items);
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
  expect(lines[1]).toContain(' 0190b111-1234-71  ');
  expect(lines[3]).toContain(' 0190b111-1234-72  ');
  expect(lines[2]).toMatch(/^ +Lore ipsum .*…$/);

  const [, row = ''] = (await inbox('list', '--limit', '1')).stdout.split('\n');
  const [, id = ''] = /^\S+ \S+ +(\S+) /.exec(row) ?? [];
  expect((await inbox('show', id)).stdout).toContain(QUOTE);
});

test('inboxTable prints a name of 20 characters in full, and the telephone number of a quote', () => {
  const name = 'A'.repeat(20);
  const fields = { name: `${name} `, email: 'a@b.example', postal_code: '1000', phone: '+1 555 0100' };
  const [, , summary] = inboxTable([keptSubmission(eventOf({ form: 'homeowner_quote', fields }))]);
  expect(summary).toBe(`  ${name}, a@b.example, 1000, +1 555 0100`);
});

test('inbox exits with 1 if there is no database, and does not create it', async () => {
  const folder = join(temporaryFolder(), 'data');
  const ran = await runService(['inbox', 'list'], { environment: { DATA_DIR: folder } });
  expect(ran).toMatchObject({ status: 1, stdout: '' });
  expect(ran.stderr).toContain('npm start');
});

test('inbox list prints that UPSTREAM_URL is not set in production', async () => {
  const environment = { DATA_DIR: dataDir, NODE_ENV: 'production', BASE_URL: 'https://x.example' };
  const ran = await runService(['inbox', 'list', '--limit', '1'], { environment });
  expect(ran.status).toBe(0);
  expect(ran.stderr).toContain('UPSTREAM_URL is not set');
});
