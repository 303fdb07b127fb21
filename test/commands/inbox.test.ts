import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { csvHeader, csvRecordOf, inboxPage, inboxTable } from '../../src/commands/inbox/formats.ts';
import { type FormName, forms } from '../../src/forms/catalog.ts';
import { openSqlite } from '../../src/storage/sqlite/store.ts';
import { openInbox } from '../../src/upstream/inbox.ts';
import type { InboxItem } from '../../src/upstream/inbox-reader.ts';
import type { Event } from '../../src/upstream/upstream.ts';
import { testClock } from '../support/clock.ts';
import { project, runService, temporaryFolder } from './run-service.ts';

/** More than two pages of the export. */
const LEADS = 1_100;

let dataDir: string;
const inbox = (...args: string[]) =>
  runService(['inbox', ...args], { environment: { DATA_DIR: dataDir } });

function eventOf(id: string, form: FormName, fields: Record<string, string>): Event {
  const data = { id, form, fields, recipient: null, consent_recorded_at: null };
  const type = forms[form].event;
  const timestamp = '2026-09-01T12:00:00.000Z';
  return { type, timestamp, data: { ...data, origin: 'browser', client: null } };
}

async function fill(folder: string, events: Event[], everyMs: number) {
  mkdirSync(folder, { recursive: true });
  const clock = testClock('2026-09-01T12:00:00.000Z');
  const storage = await openSqlite(join(folder, 'service.db'), clock);
  const upstream = openInbox(storage, clock);
  await storage.write(async (within) => {
    for (const event of events) {
      await upstream.deliver(event, { mayStart: () => true, within });
      clock.advance(everyMs);
    }
  });
  await storage.close();
}

beforeAll(async () => {
  dataDir = join(temporaryFolder(), 'data');
  const leads = Array.from({ length: LEADS }, (_, index) =>
    // Many share a moment: pages must not lose or repeat them.
    eventOf(`lead-${String(index).padStart(4, '0')}`, 'contact', {
      name: 'Ada',
      email: `ada${index}@example.com`,
      subject: 'Hello',
      message: `line one\nline ${index}`,
    }),
  );
  await fill(dataDir, leads, 0);
  const late = eventOf('quote-1', 'homeowner_quote', {
    name: '=HYPERLINK("x")',
    email: 'ada@xn--pple-43d.example',
    postal_code: '1000',
    phone: '+1 555 0100',
  });
  const { data } = late;
  const quote: Event = {
    ...late,
    data: {
      ...data,
      recipient: { id: 'c-1', name: 'Painters, Ltd' },
      origin: 'agent',
      client: 'acme',
      consent_recorded_at: '2026-09-03T00:00:00.000Z',
    },
  };
  const clock = testClock('2026-09-03T00:00:01.000Z');
  const storage = await openSqlite(join(dataDir, 'service.db'), clock);
  await openInbox(storage, clock).deliver(quote, { mayStart: () => true });
  await storage.close();
});

describe('list', () => {
  test('shows the newest first, as a table, with a domain of mixed scripts marked', async () => {
    const ran = await inbox('list', '--limit', '2');
    const [head, first, second, ...rest] = ran.stdout.trimEnd().split('\n');
    expect(head).toMatch(/^RECEIVED +ID +FORM +FROM +NAME +E-MAIL$/);
    expect(first).toMatch(
      /^2026-09-03 00:00Z +quote-1 +homeowner_quote +acme .*\(mixed scripts\)$/,
    );
    expect(second).toMatch(/lead-1099 +contact +browser +Ada +ada1099@example.com$/);
    expect(rest).toEqual([]);
  });

  test('takes a form and a date', async () => {
    const quotes = await inbox('list', '--form', 'homeowner_quote', '--json');
    expect(
      quotes.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).data.id),
    ).toEqual(['quote-1']);
    const late = await inbox('list', '--since', '2026-09-04');
    expect(late).toMatchObject({ status: 0, stdout: '' });
  });
});

describe('show', () => {
  test('finds one by the beginning of its id', async () => {
    const ran = await inbox('show', 'quo');
    expect(ran.stdout).toMatch(/^recipient +Painters, Ltd$/m);
    expect(ran.stdout).toMatch(/^phone +\+1 555 0100$/m);
    expect(ran.stdout).toMatch(/^warning +the e-mail domain mixes scripts$/m);
    expect(JSON.parse((await inbox('show', 'quo', '--json')).stdout).data.client).toBe('acme');
  });

  test.each(['lead-', 'nothing', '%'])('says that %s names no single one', async (id) => {
    expect(await inbox('show', id)).toMatchObject({ status: 1, stdout: '' });
  });
});

describe('export', () => {
  test('writes every event once, oldest first, as JSON lines', async () => {
    const { stdout } = await inbox('export', '--format', 'jsonl');
    const ids = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).data.id);
    const leads = Array.from({ length: LEADS }, (_, i) => `lead-${String(i).padStart(4, '0')}`);
    expect(ids).toEqual([...leads, 'quote-1']);
  });

  test('writes a CSV with one column for each field of every form, safe in a spreadsheet', async () => {
    const { stdout } = await inbox('export', '--format', 'csv', '--since', '2026-09-02');
    expect(stdout).toBe(
      'id,received_at,type,form,recipient,origin,client,consent_recorded_at,name,email,postal_code,phone,project_type,timeline,message,company,company_size,subject,contractor\r\n' +
        `quote-1,2026-09-03T00:00:01.000Z,lead.created,homeowner_quote,"Painters, Ltd",agent,acme,2026-09-03T00:00:00.000Z,"'=HYPERLINK(""x"")",ada@xn--pple-43d.example,1000,'+1 555 0100,,,,,,,\r\n`,
    );
  });

  test('ends quietly when its reader has enough', async () => {
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

  test('gives every value back to a CSV reader, and begins no cell like a formula', () => {
    const value = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: fc.constantFrom(...'=+-@\t\r\n",\'＝＋－＠a\u200e\u00ad\u3164 ') }),
    );
    fc.assert(
      fc.property(value, value, (name, message) => {
        const event = eventOf('id', 'contact', { name, message, email: 'a@b.example' });
        const [columns = [], cells = []] = parseCsv(csvHeader + csvRecordOf(itemOf(event)));
        expect(cells).toHaveLength(columns.length);
        for (const [column, written] of [
          ['name', name],
          ['message', message],
        ] as const) {
          const cell = cells[columns.indexOf(column)] ?? '';
          expect(cell).not.toMatch(/^[\t\r]|^[\p{Cf}\u3164\s]*[=+\-@＝＋－＠]/u);
          expect([written, `'${written}`]).toContain(cell);
        }
      }),
    );
  });
});

test('no control character of a row reaches a terminal', () => {
  const evil = 'a\u001B[2Jb\u009Bc\rd\u202Ee';
  const item = itemOf(eventOf('id', 'contact', { name: evil, email: evil, message: `${evil}\nf` }));
  const shown = [...inboxTable([item]), ...inboxPage(item)].join('\n');
  expect(shown).not.toMatch(/[^\P{Cc}\n]|\u202E/u);
  expect(shown).toContain('a[2Jbcde');
});

test('says that there is no database yet, and makes none', async () => {
  const folder = join(temporaryFolder(), 'data');
  const ran = await runService(['inbox', 'list'], { environment: { DATA_DIR: folder } });
  expect(ran).toMatchObject({ status: 1, stdout: '' });
  expect(ran.stderr).toContain('npm start');
});

test('says where submissions go when they do not come here', async () => {
  const environment = { DATA_DIR: dataDir, UPSTREAM_URL: 'https://x.example/hook' };
  const ran = await runService(['inbox', 'list', '--limit', '1'], { environment });
  expect(ran.status).toBe(0);
  expect(ran.stderr).toContain('UPSTREAM_URL');
});

function itemOf(event: Event): InboxItem {
  return { receivedAt: '2026-09-01T12:00:00.000Z', event };
}

/** RFC 4180, read strictly. */
function parseCsv(text: string): string[][] {
  const records: string[][] = [[]];
  const cell = /"((?:[^"]|"")*)"|([^",\r\n]*)/y;
  for (let at = 0; at < text.length; ) {
    cell.lastIndex = at;
    const found = cell.exec(text);
    records.at(-1)?.push(found?.[1]?.replaceAll('""', '"') ?? found?.[2] ?? '');
    at = cell.lastIndex;
    if (text[at] === ',') at += 1;
    else if (text.startsWith('\r\n', at)) {
      at += 2;
      if (at < text.length) records.push([]);
    } else throw new Error('Not RFC 4180.');
  }
  return records;
}
