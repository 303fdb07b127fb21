import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { recorder } from '../../src/console/audit.ts';
import { forms } from '../../src/forms/catalog.ts';
import { shortReference } from '../../src/submissions/submission.ts';
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
  [...text.matchAll(/leads\/[\da-f-]{36}[^"]*">\s*<span class="who"><bdi>(.*?)<\/bdi>/g)].map(([, name]) => name);
const audit = async () => {
  const rows = await service.parts.storage.read((db) => db.selectFrom('operator_audit').selectAll().orderBy('id'));
  return rows.map(({ name, what, about }) => [name, what, JSON.parse(about)]);
};

describe('GET /operator/leads (reference §12.7)', () => {
  test('lists the newest leads first, in pages with an Older link', async () => {
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
      expect(text.includes('<a class="plain" href="/operator/leads">Newest</a>')).toBe(path !== '/operator/leads');
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
    // All of these values are invalid and ignored.
    ['status=none&form=x&origin=y&since=yesterday&until=2026-13-01&cursor=1', ['Cy', 'Bo', 'Al']],
    ['status=undelivered&status=delivered&form=contact', ['Al']],
  ])('filters by the query %j', async (query, names) => {
    await keep(
      // The time in Berlin is 23:30, on the same day as in UTC.
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

  test('finds a lead by its reference and shows the search text again in the form', async () => {
    const row = submissionRow();
    await keep(row, submissionRow({ fields: { name: 'Other', email: 'o@x.co' } }));
    const { text } = await operator.get(`/operator/leads?q=${row.id.toUpperCase()}`);
    expect(namesIn(text)).toEqual(['Ada']);
    expect(text).toContain(`value="${row.id.toUpperCase()}"`);
    expect(await audit()).toContainEqual(['Jo', 'saw_leads', { count: 1, filters: ['q'] }]);
  });
});

describe('/operator/leads/:id', () => {
  test('shows every field, links the e-mail address and phone number, and records the view in the audit', async () => {
    const fields = Object.fromEntries(forms.homeowner_quote.fields.map(({ name, example }) => [name, example]));
    const row = submissionRow({
      form: 'homeowner_quote',
      fields: { ...fields, phone: '+1 (555) 0100' },
      attempts: [
        { outcome: 'unconfirmed', http_status: 503 },
        { by: 'redelivery', http_status: null },
      ],
    });
    await keep(row);
    const { text } = await operator.get(`/operator/leads/${row.id}`);
    for (const { name, label, example } of forms.homeowner_quote.fields) {
      expect(text).toContain(`<dt>${label}</dt>`);
      expect(text).toContain(name === 'phone' ? '+1 (555) 0100' : example);
    }
    expect(text).toContain('href="mailto:ada@example.com"');
    expect(text).toContain('href="tel:+15550100"');
    expect(text).toContain(`Reference <code class="reference">${shortReference(row.id)}</code> <code>${row.id}</code>`);
    expect(text).toContain('not confirmed</strong> <span class="note">HTTP 503, first attempt, 12 ms');
    expect(text).toContain('<span class="note">automatic retry, 12 ms');
    expect(text).toMatch(/<title>Lead · /);
    expect(await audit()).toContainEqual(['Jo', 'saw_lead', { ids: [row.id] }]);
  });

  test('shows how an agent’s lead was confirmed, and returns 404 if it is resent', async () => {
    const preview = await previewId(service, 'homeowner_quote', quote);
    const executed = await executeAction(service, preview);
    const id = executed.body.receipt.action_id;
    const { text } = await operator.get(`/operator/leads/${id}`);
    expect(text).toContain('The agent repeated the statement');
    expect(text).toContain('<bdi>acme</bdi>');
    expect(text).not.toContain('value="resend"');
    const forged = await operator.press(`/operator/leads/${id}`, { do: 'resend' });
    expect(forged.status).toBe(404);
  });

  test('marks the lead as due on resend', async () => {
    const row = submissionRow({ status: 'undelivered', reason: 'attempts_used_up' });
    await keep(row);
    const path = `/operator/leads/${row.id}`;
    const pressed = await operator.press(path, { do: 'resend' });
    expect([pressed.status, pressed.headers.get('location')]).toEqual([303, path]);
    const [kept] = await allRows(service.parts.storage);
    // The running service may have claimed the row already.
    expect([kept?.resend_asked_ms !== null, kept?.attempt_by === 'operator']).toContain(true);
    expect(await audit()).toContainEqual(['Jo', 'resent', { ids: [row.id] }]);
    expect((await operator.get(path)).text).toContain('<p>1 lead will be sent again soon.</p>');
  });

  test('returns 409 and shows no buttons for a lead that is being sent', async () => {
    const row = submissionRow({ status: 'sending' });
    await keep(row);
    const path = `/operator/leads/${row.id}`;
    for (const button of ['resend', 'dismiss', 'spam']) {
      expect((await operator.press(path, { do: button })).status).toBe(409);
    }
    expect((await operator.get(path)).text).not.toMatch(/name="do"(?! value="sign-out)/);
    expect(await allRows(service.parts.storage)).toMatchObject([{ status: 'sending' }]);
  });

  test.each([
    ['spam', {}, 'spam', 'marked_spam'],
    ['dismiss', { reason: 'answered' }, 'answered', 'dismissed'],
    ['dismiss', { reason: 'nonsense' }, 'other', 'dismissed'],
  ])('the button %s dismisses the lead with the reason of the form: %o', async (button, sent, reason, deed) => {
    const row = submissionRow({ status: 'undelivered', reason: 'rejected' });
    await keep(row);
    const path = `/operator/leads/${row.id}`;
    expect((await operator.press(path, { do: button, ...sent })).status).toBe(303);
    const [kept] = await allRows(service.parts.storage);
    expect([kept?.status, kept?.reason, kept?.email]).toEqual(['dismissed', reason, 'ada@example.com']);
    expect(kept?.progress).toBe(button === 'spam' ? 'spam' : 'new');
    const list = await operator.get('/operator/leads?progress=spam');
    expect(list.text).toContain('<p>1 lead dismissed. The service no longer delivers it.</p>');
    // A result is shown once.
    expect((await operator.get('/operator/leads')).text).not.toContain('dismissed. The service');
    expect((await operator.press(path, { do: button, ...sent })).status).toBe(303);
    expect((await audit()).filter(([, what]) => what === deed)).toHaveLength(1);
  });

  test('refuses a delivered lead, an unknown id or button and a request of another site, and changes nothing', async () => {
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

describe('GET /operator/leads.csv and leads.jsonl', () => {
  test('export the filtered leads with formulas disarmed, and record the count in the audit', async () => {
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
    // The newest comes first, in the operator's time zone.
    expect(records[1]).toMatch(/^2026-08-01 02:02:00,contact,new,"B,""C""",b@x\.co,/);
    expect(records[2]).toMatch(/^2026-08-01 02:01:00,contact,new,'=1\+1,a@x\.co,/);
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

  test('leave out spam and newsletter submissions, as the list on the page does', async () => {
    const named = (name: string) => ({ name, email: 'x@x.co' });
    await keep(
      submissionRow({ receivedAt: at(1), fields: named('Old') }),
      submissionRow({ receivedAt: at(2), fields: named('Spam'), progress: 'spam' }),
      submissionRow({ receivedAt: at(3), form: 'newsletter', fields: named('News') }),
      submissionRow({
        receivedAt: at(4),
        fields: named('Won'),
        progress: 'won',
        note: 'paid',
        data: { client: 'acme' },
      }),
    );
    for (const [query, names] of [
      ['', ['Won', 'Old']],
      ['?progress=spam', ['Spam']],
      ['?form=newsletter', ['News']],
      ['?agent=acme', ['Won']],
    ] as const) {
      const csv = (await operator.get(`/operator/leads.csv${query}`)).text.trimEnd().split('\r\n').slice(1);
      expect(csv.map((record) => record.split(',')[3])).toEqual(names);
      const jsonl = (await operator.get(`/operator/leads.jsonl${query}`)).text.trim().split('\n');
      expect(jsonl.map((line) => JSON.parse(line).data.fields.name)).toEqual(names);
      const list = await operator.get(`/operator/leads${query}`);
      expect(names.map((name) => list.text.includes(name))).toEqual(names.map(() => true));
    }
  });

  test('write the CSV with a byte order mark, and with all rows if the list has several pages', async () => {
    await keep(...Array.from({ length: 501 }, (_, n) => submissionRow({ receivedAt: at(n) })));
    const answer = await fetch(`${service.url}/operator/leads.csv`, { headers: { cookie: operator.cookie } });
    const text = Buffer.from(await answer.arrayBuffer()).toString();
    expect(text.startsWith('\uFEFFreceived_at,form,')).toBe(true);
    const times = text.trimEnd().split('\r\n').slice(1);
    expect(times).toHaveLength(501);
    expect(times).toEqual(times.toSorted().reverse());
  });

  test('return 403 when the sign-in link is an hour old', async () => {
    clock.advance(60 * 60_000);
    for (const path of ['/operator/leads.csv', '/operator/leads.jsonl', '/operator/subscribers.csv']) {
      const refused = await operator.get(path);
      expect(refused.status).toBe(403);
      expect(refused.text).toContain('npm run operator -- link');
    }
    expect((await operator.get('/operator/leads')).status).toBe(200);
  });
});

test('GET /operator/audit lists the newest entries first, in pages, without any entered text', async () => {
  const row = submissionRow();
  await keep(row);
  await operator.get('/operator/leads?q=ada%40example.com');
  const record = recorder(service.parts, 'Al');
  for (let n = 0; n < 50; n += 1) await record('saw_messages');
  await operator.get(`/operator/leads/${row.id}`);
  const first = await operator.get('/operator/audit');
  expect(first.text).toContain(row.id);
  // An id may contain the letters "ada", so the expression requires the @ too.
  expect(first.text).not.toMatch(/ada(?:@|%40)/);
  const older = /href="([^"]+)">Older/.exec(first.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
  const second = await operator.get(older);
  expect(second.text).toContain('Signed in');
  expect(second.text).not.toContain(row.id);
});
