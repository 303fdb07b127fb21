import { randomUUID } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { lastScrubDueAt } from '../../src/storage/scrubbing.ts';
import { pending as pendingWith, pressButton } from '../confirmations/rig.ts';
import { type Answer, quote } from '../support/agent.ts';
import { testClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { post } from '../support/forms.ts';
import type { Service } from '../support/service.ts';
import { allRows, keepRows, submissionRow } from '../support/submissions.ts';
import { until } from '../support/until.ts';
import { type Operator, operatorWith, signIn, signInFor, startWithConsole } from './operator.ts';

const EVIL = '"><img src=x onerror=alert(1)>';
const ESCAPED = '&quot;&gt;&lt;img src=x onerror=alert(1)&gt;';
const clock = testClock();

describe.each(databases)('console, on %s', (_name, create) => {
  let database: TestDatabase;
  let service: Service;
  let operator: Operator;
  beforeAll(async () => {
    database = await create();
    const environment = {
      REDELIVERY: 'off',
      DATABASE_URL: database.url,
    };
    service = await startWithConsole({ clock, environment });
  });
  afterAll(async () => {
    await service.close();
    await database.remove();
  });
  beforeEach(async () => {
    await service.parts.storage.write(async (tx) => {
      await tx.deleteFrom('submissions').execute();
      await tx.deleteFrom('messages').execute();
      await tx.deleteFrom('operator_audit').execute();
    });
    operator = await signIn(service);
  });

  const keep = (...rows: ReturnType<typeof submissionRow>[]) => keepRows(service.parts.storage, rows);
  const audit = async () => {
    const rows = await service.parts.storage.read((db) => db.selectFrom('operator_audit').selectAll().orderBy('id'));
    return rows.map(({ name, what, about }) => [name, what, JSON.parse(about)]);
  };
  const pending = (fields: object) => pendingWith(service, { fields });
  const messageRow = (given: object) => ({
    kind: 'notice' as const,
    key: randomUUID(),
    address: null,
    about: null,
    priority: 2 as const,
    message_id: `<${randomUUID()}@x.example>`,
    status: 'dead' as const,
    requested_at: clock.now().toISOString(),
    attempts: 1,
    next_attempt_at: new Date(clock.now().getTime() + 3_600_000).toISOString(),
    last_attempt_at: clock.now().toISOString(),
    attempt_started_ms: 1,
    ...given,
  });
  const addMessages = (rows: ReturnType<typeof messageRow>[]) =>
    service.parts.storage.write((tx) => tx.insertInto('messages').values(rows).execute());

  describe('/operator/people/:id', () => {
    const eve = { name: EVIL, email: 'eve@example.com', message: EVIL };

    test('shows all data with the e-mail address of the lead, and no data of other people', async () => {
      const first = submissionRow({ fields: eve });
      const second = submissionRow({ form: 'newsletter', fields: { email: 'eve@example.com' } });
      await keep(first, second, submissionRow({ fields: { name: 'Another Person', email: 'other@example.com' } }));
      await pending({ ...quote, email: 'eve@example.com' });
      for (const { id } of [first, second]) {
        const { status, text } = await operator.get(`/operator/people/${id}`);
        expect(status).toBe(200);
        expect(text).toContain('eve@example.com');
        expect(text).toContain(ESCAPED);
        expect(text).not.toContain(EVIL);
        expect(text).not.toMatch(/Another Person|other@example\.com/);
        expect(text).toContain('1 lead, 1 newsletter submission, 1 pending confirmation');
        expect(text).toMatch(/<title>Person · /);
      }
      expect(await audit()).toContainEqual(['Jo', 'saw_person', { ids: [first.id] }]);
    });

    test('lists each of 60 leads of a person once, in pages', async () => {
      const rows = Array.from({ length: 60 }, (_, n) =>
        submissionRow({ fields: { name: `Eve ${n}.`, email: 'eve@example.com' } }),
      );
      await keep(...rows, submissionRow({ fields: { name: 'Eve 61.', email: 'other@example.com' } }));
      const seen: (string | undefined)[] = [];
      let path: string | undefined = `/operator/people/${rows[0]?.id}`;
      while (path !== undefined) {
        const { text } = await operator.get(path);
        seen.push(...[...text.matchAll(/Eve \d+\./g)].map(([name]) => name));
        path = /rel="next" href="([^"]+)">Older/.exec(text)?.[1]?.replaceAll('&amp;', '&');
      }
      expect([new Set(seen).size, seen.includes('Eve 61.')]).toEqual([60, false]);
    });

    test('exports one person as JSON lines and records the count in the audit', async () => {
      const row = submissionRow({ fields: eve });
      await keep(row, submissionRow());
      await pending({ ...quote, email: 'eve@example.com' });
      const { text } = await operator.get(`/operator/people/${row.id}`);
      const href = /href="([^"]+)">Export</.exec(text)?.[1] ?? '';
      const file = await operator.get(href);
      expect(href).toBe(`/operator/people/${row.id}?export=jsonl`);
      expect(file.headers.get('content-disposition')).toBe('attachment; filename="person.jsonl"');
      const lines = file.text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      expect(lines[0].data).toMatchObject({ id: row.id, fields: eve });
      const asked = lines.filter(({ type }) => type === 'confirmation.pending');
      expect(asked.at(-1).fields).toMatchObject({ email: 'eve@example.com' });
      expect(await audit()).toContainEqual(['Jo', 'exported_person', { ids: [row.id], count: lines.length }]);
    });

    test('deletes a person’s leads, confirmations and messages after a click on the page that asks', async () => {
      const row = submissionRow({ fields: eve });
      const sending = submissionRow({ fields: eve, status: 'sending' });
      const other = submissionRow();
      await keep(row, sending, other);
      const secret = await pending({ ...quote, email: 'eve@example.com' });
      await post(service, '/api/subscribe', 'json', { email: 'eve@example.com', privacy: 'on' });
      await service.parts.storage.write(async (tx) => {
        await tx.deleteFrom('messages').execute();
        await tx.deleteFrom('submissions').where('form', '=', 'newsletter').execute();
      });
      await addMessages([
        messageRow({ kind: 'confirmation', key: 'eve@example.com', address: 'eve@example.com' }),
        messageRow({ key: row.id, status: 'pending' }),
        messageRow({ key: other.id }),
      ]);
      const path = `/operator/people/${row.id}`;
      const { text } = await operator.get(path);
      const ask = /href="([^"]+)">Delete</.exec(text)?.[1] ?? '';
      const asked = await operator.get(ask);
      expect(asked.text).toContain('npm run erase');
      expect(asked.text).toContain('may still arrive');
      const counts = ['2 leads', '1 pending confirmation', 'the newsletter subscription', '1 message to them'];
      for (const count of counts) expect(asked.text).toContain(`<li>${count}</li>`);
      expect(asked.text).toContain('<title>Delete a person · ');
      expect(await allRows(service.parts.storage)).toHaveLength(3);

      expect((await operator.press(path, { do: 'erase' })).status).toBe(400);
      expect((await operator.press(path, { do: 'delete' }, { headers: {} })).status).toBe(403);
      const deleted = await operator.press(path, { do: 'delete' });
      expect([deleted.status, deleted.headers.get('location')]).toEqual([303, '/operator/leads']);
      expect((await operator.get('/operator/leads')).text).toContain(
        `<p>Deleted: ${counts.slice(0, 3).join(', ')}, 2 messages to them.</p>`,
      );
      const logged = service.logs.map((line) => JSON.parse(line)).filter(({ msg }) => msg.startsWith('an operator'));
      expect(logged).toMatchObject([{ id: row.id, msg: 'an operator deleted everything about a person' }]);
      expect((await allRows(service.parts.storage)).map(({ id }) => id)).toEqual([other.id]);
      const left = await service.parts.storage.read((db) => db.selectFrom('messages').select('key'));
      expect(left.map(({ key }) => key)).toEqual([other.id]);
      const [question] = await service.parts.storage.read((db) =>
        db.selectFrom('confirmations').select(['fields', 'email']).where('id', '=', secret.id),
      );
      expect(question).toEqual({ fields: null, email: null });
      expect((await operator.get(path)).status).toBe(404);
      expect((await operator.press(path, { do: 'delete' })).status).toBe(404);
      const deeds = (await audit()).filter(([, what]) => what === 'deleted_person');
      expect(deeds).toMatchObject([['Jo', 'deleted_person', { ids: [row.id], count: 6 }]]);
    });

    test('names only what a person has, before and after the deletion', async () => {
      const row = submissionRow({ fields: { ...eve, email: 'one@example.com' } });
      await keep(row);
      const asked = await operator.get(`/operator/people/${row.id}?delete=ask`);
      expect(asked.text).toMatch(/\b1 lead\b(?!,| and)/);
      expect(asked.text).not.toMatch(/may still arrive|newsletter|message to them|messages to them/);
      await operator.press(`/operator/people/${row.id}`, { do: 'delete' });
      expect((await operator.get('/operator/leads')).text).toContain('<p>Deleted: 1 lead.</p>');
    });

    test('leaves no trace of the address in the database files after the requested scrub', async () => {
      const row = submissionRow({ fields: { ...eve, email: 'traced@example.com' } });
      await keep(row);
      await operator.press(`/operator/people/${row.id}`, { do: 'delete' });
      await until(async () => (await lastScrubDueAt(service.parts.storage)) === undefined);
      const files = globSync(`${database.url.replace('sqlite:', '')}*`);
      const text = files.map((file) => readFileSync(file, 'latin1')).join('');
      expect(text).not.toContain('traced@example.com');
    });

    test('returns 403 for export and delete when the sign-in link is an hour old', async () => {
      const row = submissionRow({ fields: eve });
      await keep(row);
      const path = `/operator/people/${row.id}`;
      clock.advance(60 * 60_000);
      const answers = [
        await operator.get(`${path}?export=jsonl`),
        await operator.press(path, { do: 'delete' }),
        // The age of the link is checked before the row.
        await operator.press(`/operator/people/${randomUUID()}`, { do: 'delete' }),
      ];
      for (const { status, text } of answers) {
        expect(status).toBe(403);
        expect(text).toContain('npm run operator -- link');
      }
      expect((await operator.get(path)).status).toBe(200);
      expect((await operator.get(`${path}?delete=ask`)).text).toContain('more than an hour ago');
      expect(await allRows(service.parts.storage)).toHaveLength(1);
      const nobody = operatorWith(service, '');
      const location = ({ headers }: Answer) => headers.get('location');
      expect(location(await nobody.get(path))).toBe(signInFor(path));
      expect(location(await nobody.press(path, { do: 'delete' }))).toBe('/operator/sign-in');
    });

    test('returns 404 for an unknown lead, or one whose fields were deleted', async () => {
      const gone = submissionRow({ fields: {}, status: 'dismissed', reason: 'spam' });
      await keep(gone);
      for (const id of [gone.id, randomUUID(), 'x', '%00']) {
        expect((await operator.get(`/operator/people/${id}`)).status, id).toBe(404);
        expect((await operator.press(`/operator/people/${id}`, { do: 'delete' })).status).toBe(404);
      }
    });
  });

  describe('GET /operator/confirmations', () => {
    test('lists client, time and status, without any entered value', async () => {
      await service.parts.storage.write((tx) => tx.deleteFrom('confirmations').execute());
      const declined = await pending({ ...quote, name: EVIL });
      await pressButton(service, declined.path, 'decline');
      const reported = await pending({ ...quote, email: 'report@example.com' });
      await pressButton(service, reported.path, 'report');
      await pending({ ...quote, email: 'late@example.com' });
      const { text } = await operator.get('/operator/confirmations');
      const statuses = [...text.matchAll(/class="status \w+">([^<]+)</g)].map(([, word]) => word);
      expect(statuses).toEqual(['Pending', 'Reported as unwanted', 'Declined']);
      expect(text).toContain('acme');
      expect(text).not.toMatch(/example\.com|img src=x/);
      clock.advance(8 * 86_400_000);
      const later = await (await signIn(service)).get('/operator/confirmations');
      expect(later.text).toContain('>Expired<');
      expect(later.text).not.toContain('>Pending<');
    });

    test('lists each of 60 confirmations once, in pages', async () => {
      const { storage } = service.parts;
      const [one] = await storage.read((db) => db.selectFrom('confirmations').selectAll().limit(1));
      if (one === undefined) return expect.fail();
      const rows = Array.from({ length: 60 }, (_, n) => ({
        ...one,
        id: randomUUID(),
        secret_digest: `digest ${n}`,
        client: `client-${n}`,
        created_at: '2026-09-01T00:00:00.000Z',
      }));
      await storage.write(async (tx) => {
        await tx.deleteFrom('confirmations').execute();
        await tx.insertInto('confirmations').values(rows).execute();
      });
      const seen: (string | undefined)[] = [];
      let path: string | undefined = '/operator/confirmations';
      while (path !== undefined) {
        const { text } = await operator.get(path);
        seen.push(...[...text.matchAll(/<bdi>(client-\d+)</g)].map(([, client]) => client));
        path = /rel="next" href="([^"]+)">Older/.exec(text)?.[1]?.replaceAll('&amp;', '&');
        // Only a later page links to the newest one.
        const isFirst = seen.length === 50;
        expect(text.includes('<a class="plain" href="/operator/confirmations">Newest</a>')).toBe(!isFirst);
      }
      expect(seen).toHaveLength(60);
      expect(new Set(seen).size).toBe(60);
      for (const cursor of ['x', '2026-09-01T00:00:00.000Z', '2026-09-01T00:00:00.000Z_x', `x_${rows[0]?.id}`]) {
        expect((await operator.get(`/operator/confirmations?cursor=${cursor}`)).text).toContain('Older');
      }
      const last = rows.slice(0, 10).map(({ id }) => id);
      await storage.write((tx) => tx.deleteFrom('confirmations').where('id', 'in', last).execute());
      const { text } = await operator.get('/operator/confirmations');
      expect([text.match(/<bdi>client-/g)?.length, text.includes('Older')]).toEqual([50, false]);
    });
  });

  describe('/operator/messages', () => {
    test('lists messages that failed permanently, in pages, without an address in a link', async () => {
      const rows = Array.from({ length: 60 }, (_, n) =>
        messageRow({ kind: 'confirmation', key: `p${n}@x.co`, address: `p${n}@x.co` }),
      );
      await addMessages([...rows, messageRow({ kind: 'alert', key: EVIL, status: 'dead' })]);
      const seen = new Set<string>();
      let path: string | undefined = '/operator/messages';
      while (path !== undefined) {
        expect(path).not.toContain('x.co');
        const { text } = await operator.get(path);
        expect(text).not.toContain(EVIL);
        expect(text).toContain('61 failed permanently');
        for (const [, address = ''] of text.matchAll(/<bdi>(p\d+@x\.co)</g)) seen.add(address);
        path = /rel="next" href="([^"]+)">Older/.exec(text)?.[1]?.replaceAll('&amp;', '&');
      }
      expect(seen.size).toBe(60);
    });

    test('names each kind of message, and links a notice of either receiver to its lead', async () => {
      const id = '0191ab6f-2d40-7c11-8f37-2a6a4f1f9c11';
      await addMessages([
        messageRow({ kind: 'contractor_notice', key: id, address: null, status: 'dead' }),
        messageRow({ kind: 'acknowledgement', key: 'ada@x.co', address: 'ada+tag@x.co', status: 'dead' }),
      ]);
      const { text } = await operator.get('/operator/messages');
      expect(text).toMatch(new RegExp(`<a href="/operator/leads/${id}">[^<]*Notice to the contractor`));
      expect(text).toContain('Acknowledgement of a form');
      expect(text).toContain('<bdi>ada+tag@x.co</bdi>');
    });

    test.each([
      [
        1,
        '550 5.1.1 … <b>unknown</b>',
        'The mail server refused the message: <bdi>550 5.1.1 … &lt;b&gt;unknown&lt;/b&gt;</bdi>',
      ],
      [7, '452 4.2.2 full', 'The mail server refused every attempt temporarily: <bdi>452 4.2.2 full</bdi>'],
      [7, null, 'The mail server did not reply</span>'],
      [1, null, 'The address is not valid</span>'],
    ])('shows why a message failed after %i attempts with the reply %j', async (attempts, reply, words) => {
      await addMessages([messageRow({ kind: 'confirmation', key: 'a@x.co', address: 'a@x.co', attempts, reply })]);
      expect((await operator.get('/operator/messages')).text).toContain(`<span class="cause">${words}`);
    });

    test('resends a failed message once and records it in the audit', async () => {
      const row = messageRow({
        kind: 'confirmation',
        key: 'a@x.co',
        address: 'a@x.co',
        attempts: 7,
      });
      const sent = messageRow({ status: 'sent' });
      await addMessages([row, sent]);
      const form = { do: 'resend', kind: row.kind, key: row.key };
      const done = await operator.press('/operator/messages', form);
      expect([done.status, done.headers.get('location')]).toEqual([303, '/operator/messages']);
      const [kept] = await service.parts.storage.read((db) =>
        db.selectFrom('messages').selectAll().where('key', '=', 'a@x.co'),
      );
      expect(kept).toMatchObject({ status: 'pending', message_id: row.message_id });
      expect((await operator.press('/operator/messages', form)).status).toBe(409);
      const others = [
        [{ ...form, key: 'b@x.co' }, 404],
        [{ ...form, kind: 'x' }, 404],
        [{ do: 'resend', kind: sent.kind, key: sent.key }, 404],
        [{ do: 'resend', kind: 'x' }, 400],
        [{ ...form, do: 'send' }, 400],
      ] as const;
      for (const [sentForm, status] of others) {
        expect((await operator.press('/operator/messages', sentForm)).status).toBe(status);
      }
      expect((await operator.press('/operator/messages', form, { headers: {} })).status).toBe(403);
      expect((await audit()).filter(([, what]) => what === 'resent_message')).toHaveLength(1);
    });
  });

  test('GET /operator/agents shows scopes, credentials, last use and activity of clients', async () => {
    await pending(quote);
    const { status, text } = await operator.get('/operator/agents');
    expect(status).toBe(200);
    expect(text).toContain('acme');
    expect(text).toContain('lead:preview, lead:create');
    expect(text).toMatch(/\d+ asked/);
    expect(text).not.toMatch(/[\da-f]{64}/);
    expect(text).toMatch(/Last used <time/);
  });
});
