import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { recordIn } from '../../src/console/audit.ts';
import { forms } from '../../src/forms/catalog.ts';
import { executeAction, previewId, quote } from '../support/agent.ts';
import { testClock } from '../support/clock.ts';
import type { Service } from '../support/service.ts';
import { allRows, keepRows, submissionRow } from '../support/submissions.ts';
import { type Operator, signIn, startWithConsole } from './operator.ts';

const clock = testClock();
let service: Service;
let operator: Operator;
beforeAll(async () => {
  service = await startWithConsole({ clock, environment: { REDELIVERY: 'off' } });
});
afterAll(() => service.close());
beforeEach(async () => {
  await service.parts.storage.write(async (tx) => {
    await tx.deleteFrom('submissions').execute();
    await tx.deleteFrom('operator_audit').execute();
  });
  operator = await signIn(service);
});

const keep = (...rows: ReturnType<typeof submissionRow>[]) => keepRows(service.parts.storage, rows);
const at = (n: number) => new Date(Date.parse('2026-08-01T00:00:00Z') + n * 60_000).toISOString();
const namesIn = (text: string) =>
  [...text.matchAll(/leads\/[\da-f-]{36}"><bdi>(.*?)<\/bdi>/g)].map(([, name]) => name);
const audit = async () => {
  const rows = await service.parts.storage.read((db) =>
    db.selectFrom('operator_audit').selectAll().orderBy('id'),
  );
  return rows.map(({ name, what, about }) => [name, what, JSON.parse(about)]);
};

describe('the list of leads (beyond §7)', () => {
  test('is newest first, in pages, each linked by the word Older', async () => {
    await keep(
      ...Array.from({ length: 120 }, (_, n) =>
        submissionRow({ receivedAt: at(n), fields: { name: `P${n}`, email: `p${n}@x.co` } }),
      ),
    );
    const seen: (string | undefined)[] = [];
    let path: string | undefined = '/operator/leads';
    while (path !== undefined) {
      const { text } = await operator.get(path);
      expect(text).toContain('120 leads');
      seen.push(...namesIn(text));
      path = /rel="next" href="([^"]+)">Older/.exec(text)?.[1]?.replaceAll('&amp;', '&');
    }
    expect(seen).toEqual(Array.from({ length: 120 }, (_, n) => `P${119 - n}`));
  });

  test.each<[string, string[]]>([
    ['', ['Cy', 'Bo', 'Al']],
    ['status=undelivered', ['Bo']],
    ['form=homeowner_quote', ['Cy']],
    ['origin=agent', ['Cy']],
    ['q=bo%40x.co', ['Bo']],
    ['q=%2B1+(555)+0100', ['Al']],
    ['q=al', ['Al']],
    ['q=%25', []],
    ['q=_', []],
    ['q=+', ['Cy', 'Bo', 'Al']],
    ['since=2026-08-02', ['Cy', 'Bo']],
    ['until=2026-08-02', ['Al']],
    ['since=2026-08-02&until=2026-08-03', ['Bo']],
    // None of these says anything that can be looked for.
    ['status=none&form=x&origin=y&since=yesterday&until=2026-13-01&cursor=1', ['Cy', 'Bo', 'Al']],
    ['status=undelivered&status=delivered&form=contact', ['Al']],
  ])('takes what is asked for: %s', async (query, names) => {
    await keep(
      // 23:30 in Berlin, on the day before it is that in UTC as well.
      submissionRow({
        receivedAt: '2026-08-01T21:30:00.000Z',
        fields: { name: 'Al', email: 'al@x.co', phone: '+1 555 0100' },
      }),
      submissionRow({
        receivedAt: '2026-08-01T22:00:00.000Z', // midnight
        status: 'undelivered',
        fields: { name: 'Bo', email: 'bo@x.co' },
      }),
      submissionRow({
        receivedAt: '2026-08-03T12:00:00.000Z',
        form: 'homeowner_quote',
        origin: 'agent',
        fields: { name: 'Cy', email: 'cy@x.co' },
        data: { client: 'acme' },
      }),
    );
    const { status, text } = await operator.get(`/operator/leads?${query}`);
    expect(status).toBe(200);
    expect(namesIn(text)).toEqual(names);
  });

  test('a reference finds one, and what was searched for stays in the form', async () => {
    const row = submissionRow();
    await keep(row, submissionRow({ fields: { name: 'Other', email: 'o@x.co' } }));
    const { text } = await operator.get(`/operator/leads?q=${row.id.toUpperCase()}`);
    expect(namesIn(text)).toEqual(['Ada']);
    expect(text).toContain(`value="${row.id.toUpperCase()}"`);
    expect(await audit()).toContainEqual(['Jo', 'saw_leads', { count: 1, filters: ['q'] }]);
  });
});

describe('one lead', () => {
  test('shows every field, with an address and a number that can be pressed, and says who looked', async () => {
    const fields = Object.fromEntries(
      forms.homeowner_quote.fields.map(({ name, example }) => [name, example]),
    );
    const row = submissionRow({
      form: 'homeowner_quote',
      fields: { ...fields, phone: '+1 (555) 0100' },
      attempts: [{ outcome: 'unconfirmed' }, { by: 'redelivery' }],
    });
    await keep(row);
    const { text } = await operator.get(`/operator/leads/${row.id}`);
    for (const { name, label, example } of forms.homeowner_quote.fields) {
      expect(text).toContain(`<dt>${label}</dt>`);
      expect(text).toContain(name === 'phone' ? '+1 (555) 0100' : example);
    }
    expect(text).toContain('href="mailto:ada@example.com"');
    expect(text).toContain('href="tel:+15550100"');
    expect(text).toContain('not confirmed');
    expect(text).toContain('sent again by itself');
    expect(text).toMatch(/<title>Lead · /);
    expect(await audit()).toContainEqual(['Jo', 'saw_lead', { ids: [row.id] }]);
  });

  test('of an agent says how it was confirmed, and has nothing to resend', async () => {
    const preview = await previewId(service, 'homeowner_quote', quote);
    const executed = await executeAction(service, preview);
    const id = executed.body.receipt.action_id;
    const { text } = await operator.get(`/operator/leads/${id}`);
    expect(text).toContain('The agent repeated the statement.');
    expect(text).toContain('Agent acme');
    expect(text).not.toContain('value="resend"');
    const forged = await operator.press(`/operator/leads/${id}`, { do: 'resend' });
    expect(forged.status).toBe(404);
  });

  test('resend marks it due: the running service sends it within seconds', async () => {
    const row = submissionRow({ status: 'undelivered', reason: 'attempts_used_up' });
    await keep(row);
    const path = `/operator/leads/${row.id}`;
    const pressed = await operator.press(path, { do: 'resend' });
    expect([pressed.status, pressed.headers.get('location')]).toEqual([303, path]);
    const [kept] = await allRows(service.parts.storage);
    // Marked, or taken by the service already.
    expect([kept?.resend_asked_ms !== null, kept?.attempt_by === 'operator']).toContain(true);
    expect(await audit()).toContainEqual(['Jo', 'resent', { ids: [row.id] }]);
  });

  test('what is being sent is under way: 409, and no button', async () => {
    const row = submissionRow({ status: 'sending' });
    await keep(row);
    const path = `/operator/leads/${row.id}`;
    for (const button of ['resend', 'dismiss', 'spam']) {
      expect((await operator.press(path, { do: button })).status).toBe(409);
    }
    expect((await operator.get(path)).text).not.toMatch(/value="(resend|dismiss|spam)"/);
    expect(await allRows(service.parts.storage)).toMatchObject([{ status: 'sending' }]);
  });

  test.each([
    ['spam', {}, 'spam', 'marked_spam'],
    ['dismiss', { reason: 'answered' }, 'answered', 'dismissed'],
    ['dismiss', { reason: 'nonsense' }, 'other', 'dismissed'],
  ])('%s puts it away: %o', async (button, sent, reason, deed) => {
    const row = submissionRow({ status: 'undelivered', reason: 'rejected' });
    await keep(row);
    const path = `/operator/leads/${row.id}`;
    expect((await operator.press(path, { do: button, ...sent })).status).toBe(303);
    const [kept] = await allRows(service.parts.storage);
    expect([kept?.status, kept?.reason]).toEqual(['dismissed', reason]);
    expect((await operator.press(path, { do: button, ...sent })).status).toBe(303);
    expect((await operator.press(path, { do: 'resend' })).status).toBe(404);
    expect((await audit()).filter(([, what]) => what === deed)).toHaveLength(1);
  });

  test('a delivered one is not put away; what is no lead, or no button, changes nothing', async () => {
    const row = submissionRow();
    await keep(row);
    const path = `/operator/leads/${row.id}`;
    expect((await operator.press(path, { do: 'dismiss' })).status).toBe(404);
    expect((await operator.press(path, { do: 'delete' })).status).toBe(400);
    expect((await operator.press(path, {}, { headers: {} })).status).toBe(403);
    for (const id of [randomUUID(), 'x', row.id.toUpperCase(), '..%2f..%2faudit']) {
      expect((await operator.get(`/operator/leads/${id}`)).status, id).toBe(404);
      expect((await operator.press(`/operator/leads/${id}`, { do: 'spam' })).status, id).toBe(404);
    }
    expect(await allRows(service.parts.storage)).toMatchObject([{ status: 'delivered' }]);
  });
});

describe('the leads as a file', () => {
  test('are what is filtered, formulas made harmless, and their count is written down', async () => {
    await keep(
      submissionRow({ receivedAt: at(1), fields: { name: '=1+1', email: 'a@x.co' } }),
      submissionRow({ receivedAt: at(2), fields: { name: 'B,"C"', email: 'b@x.co' } }),
      submissionRow({ status: 'undelivered' }),
    );
    const query = '?status=delivered&q=x.co';
    const csv = await operator.get(`/operator/leads.csv${query.replace('&q=x.co', '')}`);
    expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(csv.headers.get('content-disposition')).toBe('attachment; filename="leads.csv"');
    expect(csv.headers.get('cache-control')).toBe('no-store');
    const records = csv.text.split('\r\n');
    expect(records).toHaveLength(4);
    expect(records[1]).toContain(",'=1+1,");
    expect(records[2]).toContain(',"B,""C""",');
    const jsonl = await operator.get('/operator/leads.jsonl');
    const lines = jsonl.text.trim().split('\n');
    expect(lines.map((line) => JSON.parse(line).data.form)).toEqual(Array(3).fill('contact'));
    expect(await audit()).toEqual(
      expect.arrayContaining([
        ['Jo', 'exported_leads', { count: 2, filters: ['status'] }],
        ['Jo', 'exported_leads', { count: 3, filters: [] }],
      ]),
    );
  });

  test('are not given an hour after the link was made', async () => {
    clock.advance(60 * 60_000);
    for (const path of ['/operator/leads.csv', '/operator/leads.jsonl']) {
      const refused = await operator.get(path);
      expect(refused.status).toBe(403);
      expect(refused.text).toContain('npm run operator -- link');
    }
    expect((await operator.get('/operator/leads')).status).toBe(200);
  });
});

test('the audit is shown newest first, in pages, and holds nothing that was typed', async () => {
  const row = submissionRow();
  await keep(row);
  await operator.get('/operator/leads?q=ada%40example.com');
  await service.parts.storage.write(async (tx) => {
    for (let n = 0; n < 50; n += 1) {
      const id = service.parts.newId();
      await recordIn(tx, { id, at: clock.now().toISOString(), name: 'Al', what: 'saw_messages' });
    }
  });
  await operator.get(`/operator/leads/${row.id}`);
  const first = await operator.get('/operator/audit');
  expect(first.text).toContain(row.id);
  // Three letters alone may stand in an id.
  expect(first.text).not.toMatch(/ada(?:@|%40)/);
  const older = /href="([^"]+)">Older/.exec(first.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
  const second = await operator.get(older);
  expect(second.text).toContain('Signed in');
  expect(second.text).not.toContain(row.id);
});
