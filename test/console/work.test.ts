/** Leads as work over HTTP: progress, note, several leads at once, undo, new leads (reference §12.14). */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { call } from '../support/agent.ts';
import { testClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import type { Service } from '../support/service.ts';
import { allRows, keepRows, submissionRow } from '../support/submissions.ts';
import { type Operator, signIn, startWithConsole } from './operator.ts';

const UNKNOWN = '00000000-0000-7000-8000-ffffffffffff';

describe.each(databases)('leads as work on %s', (_name, create) => {
  const clock = testClock();
  let database: TestDatabase;
  let service: Service;
  let operator: Operator;
  beforeAll(async () => {
    database = await create();
    const environment = { DATABASE_URL: database.url, REDELIVERY: 'off' };
    service = await startWithConsole({ clock, environment });
  });
  afterAll(async () => {
    await service.close();
    await database.remove();
  });
  beforeEach(async () => {
    await service.parts.storage.write(async (tx) => {
      await tx.deleteFrom('submissions').execute();
      await tx.deleteFrom('operator_audit').execute();
    });
    operator = await signIn(service);
  });

  const keep = async (...rows: ReturnType<typeof submissionRow>[]) => {
    await keepRows(service.parts.storage, rows);
    return rows.map(({ id }) => id);
  };
  const rowOf = async (id: string) => (await allRows(service.parts.storage)).find((row) => row.id === id);
  const progressOf = async (ids: string[]) => {
    const rows = new Map((await allRows(service.parts.storage)).map((row) => [row.id, row.progress]));
    return ids.map((id) => rows.get(id));
  };
  const bulk = (what: string, ids: string[], page = '/operator/leads?progress=new') => {
    const body = new URLSearchParams([['do', what], ['page', page], ...ids.map((id) => ['id', id])]);
    return operator.press('/operator/leads/bulk', {}, { body });
  };
  const audit = async () => {
    const rows = await service.parts.storage.read((db) => db.selectFrom('operator_audit').selectAll().orderBy('id'));
    return rows.map(({ what, about }) => [what, JSON.parse(about)]).filter(([what]) => !/^sign|^saw/.test(what));
  };
  const resultIn = (text: string) => /<div class="result" role="status">\s*<p>(.*?)<\/p>/.exec(text)?.[1];
  const undoIn = (text: string) => /name="change" value="([^"]+)"/.exec(text)?.[1];
  const namesIn = (text: string) => [...text.matchAll(/<span class="who"><bdi>(.*?)<\/bdi>/g)].map(([, name]) => name);

  describe('POST /operator/leads/:id/progress', () => {
    test.each(['answered', 'won', 'lost', 'spam', 'new'] as const)(
      'sets the progress %s and redirects to the page of the form',
      async (to) => {
        const [id = ''] = await keep(submissionRow({ progress: 'won' }));
        const page = `/operator/leads/${id}?progress=won&q=ada`;
        const { status, headers } = await operator.press(`/operator/leads/${id}/progress`, { progress: to, page });
        expect([status, headers.get('location')]).toEqual([303, page]);
        expect(await progressOf([id])).toEqual([to]);
        expect(await audit()).toEqual([['marked', { ids: [id], progress: to }]]);
        const { text } = await operator.get(page);
        expect(resultIn(text)).toBe(`1 lead marked as ${to}.`);
        expect(text).toMatch(new RegExp(`value="${to}" aria-pressed="true"`));
      },
    );

    test.each<[string, Record<string, string>]>([
      ['an unknown progress', { progress: 'done' }],
      ['no progress', {}],
    ])('answers 400 to %s and changes nothing', async (_what, form) => {
      const [id = ''] = await keep(submissionRow());
      expect((await operator.press(`/operator/leads/${id}/progress`, form)).status).toBe(400);
      expect([await progressOf([id]), await audit()]).toEqual([['new'], []]);
    });

    test.each([UNKNOWN, 'x', '%00'])('answers 404 to the unknown id %s', async (id) => {
      expect((await operator.press(`/operator/leads/${id}/progress`, { progress: 'won' })).status).toBe(404);
      expect(await audit()).toEqual([]);
    });

    test.each([undefined, '', 'https://evil.example/operator', '//evil.example', '/operator/leads.csv', '/'])(
      'redirects to /operator if the page of the form is %j',
      async (page) => {
        const [id = ''] = await keep(submissionRow());
        const form = { progress: 'won', ...(page !== undefined && { page }) };
        const { status, headers } = await operator.press(`/operator/leads/${id}/progress`, form);
        expect([status, headers.get('location')]).toEqual([303, '/operator']);
      },
    );

    test('answers 403 to a click from another site and changes nothing', async () => {
      const [id = ''] = await keep(submissionRow());
      const pressed = await operator.press(`/operator/leads/${id}/progress`, { progress: 'won' }, { headers: {} });
      expect([pressed.status, await progressOf([id])]).toEqual([403, ['new']]);
    });

    test('if an undelivered lead is marked as spam, says that it is no longer delivered', async () => {
      const [id = ''] = await keep(submissionRow({ status: 'undelivered', reason: 'rejected' }));
      await operator.press(`/operator/leads/${id}/progress`, { progress: 'spam' });
      expect(resultIn((await operator.get('/operator')).text)).toBe(
        '1 lead marked as spam. The service no longer delivers it.',
      );
      expect(await rowOf(id)).toMatchObject({ status: 'dismissed', reason: 'spam', email: 'ada@example.com' });
    });
  });

  describe('POST /operator/leads/bulk', () => {
    test('marks up to 100 leads, skips unknown ids, and counts a repeated id once', async () => {
      const ids = await keep(...Array.from({ length: 98 }, () => submissionRow()));
      const given = [...ids, ids[0] ?? '', UNKNOWN, 'x'];
      const { status, headers } = await bulk('answered', given);
      expect([status, headers.get('location')]).toEqual([303, '/operator/leads?progress=new']);
      expect(new Set(await progressOf(ids))).toEqual(new Set(['answered']));
      expect(await audit()).toEqual([['marked', { ids: [...ids].sort(), progress: 'answered' }]]);
      const first = (await operator.get('/operator/leads')).text;
      expect(resultIn(first)).toBe('98 leads marked as answered. 2 leads were skipped.');
      expect(resultIn((await operator.get('/operator/leads')).text)).toBeUndefined();
    });

    test('counts the leads that are no longer delivered', async () => {
      const open = () => submissionRow({ status: 'undelivered', reason: 'rejected' });
      await bulk('spam', await keep(open(), open(), submissionRow()));
      expect(resultIn((await operator.get('/operator')).text)).toBe(
        '3 leads marked as spam. The service no longer delivers 2 of them.',
      );
    });

    test.each<[string, string, number]>([
      ['an unknown button', 'delete', 1],
      ['no lead', 'answered', 0],
      ['101 leads', 'answered', 101],
    ])('answers 400 to %s and changes nothing', async (_what, button, count) => {
      const ids = await keep(...Array.from({ length: count }, () => submissionRow()));
      expect((await bulk(button, ids)).status).toBe(400);
      expect(new Set(await progressOf(ids)).has('answered')).toBe(false);
      expect(await audit()).toEqual([]);
    });

    test.each([
      ['won', [UNKNOWN, randomUUID()], 'Nothing has changed. 2 leads were skipped.'],
      ['resend', [UNKNOWN], 'Nothing has changed. 1 lead was skipped.'],
    ])('changes nothing and writes no audit entry if every id is unknown: %s', async (button, ids, result) => {
      expect((await bulk(button, ids)).status).toBe(303);
      expect(await audit()).toEqual([]);
      expect(resultIn((await operator.get('/operator')).text)).toBe(result);
    });

    test('resends the leads that can be resent, and skips the others', async () => {
      const ids = await keep(
        submissionRow({ status: 'undelivered', reason: 'rejected' }),
        submissionRow({ status: 'dismissed', reason: 'spam' }),
        submissionRow({ origin: 'agent' }),
        submissionRow({ status: 'undelivered', reason: 'sent_unkept' }),
      );
      await bulk('resend', [...ids, UNKNOWN]);
      expect(resultIn((await operator.get('/operator')).text)).toBe(
        '2 leads will be sent again soon. 3 leads were skipped.',
      );
      expect(await audit()).toEqual([['resent', { ids: ids.slice(0, 2).sort() }]]);
    });
  });

  describe('POST /operator/leads/undo', () => {
    const undo = async (change: string) => {
      const { status, headers } = await operator.press('/operator/leads/undo', { change, page: '/operator/leads' });
      expect([status, headers.get('location')]).toEqual([303, '/operator/leads']);
      return resultIn((await operator.get('/operator/leads')).text);
    };

    test('restores the previous progress of each lead, once', async () => {
      const ids = await keep(submissionRow({ progress: 'won' }), submissionRow(), submissionRow({ progress: 'lost' }));
      await bulk('lost', ids);
      const change = undoIn((await operator.get('/operator/leads')).text) ?? expect.fail('there is no button');
      expect(await undo(change)).toBe('Undone for 3 leads.');
      expect(await progressOf(ids)).toEqual(['won', 'new', 'lost']);
      expect(await undo(change)).toBe('Nothing is left to undo.');
      expect((await audit()).map(([what]) => what)).toEqual(['marked', 'undid']);
    });

    test('has a button that leads back to the list, which a HEAD request does not take away', async () => {
      await bulk('won', await keep(submissionRow()));
      const headers = { cookie: operator.cookie };
      expect((await call(service, '/operator/leads', { method: 'HEAD', headers })).status).toBe(200);
      const { text } = await operator.get('/operator/leads?progress=won');
      expect(resultIn(text)).toBe('1 lead marked as won.');
      expect(text).toContain('<input type="hidden" name="page" value="/operator/leads?progress=won">');
    });

    test('does not undo a lead that another operator changed meanwhile, nor the delivery status', async () => {
      const ids = await keep(submissionRow({ status: 'undelivered', reason: 'rejected' }), submissionRow());
      await bulk('spam', ids);
      const change = undoIn((await operator.get('/operator/leads')).text) ?? expect.fail('there is no button');
      const other = await signIn(service, 'Al');
      await other.press(`/operator/leads/${ids[1]}/progress`, { progress: 'won' });
      expect(await undo(change)).toBe('Undone for 1 lead.');
      expect(await progressOf(ids)).toEqual(['new', 'won']);
      expect(await rowOf(ids[0] ?? '')).toMatchObject({ status: 'dismissed', reason: 'spam' });
    });

    test('undoes only the session’s own last change', async () => {
      const ids = await keep(submissionRow());
      await bulk('won', ids);
      const first = undoIn((await operator.get('/operator/leads')).text) ?? expect.fail('there is no button');
      await bulk('lost', ids);
      expect(await undo(first)).toBe('Nothing is left to undo.');
      await bulk('answered', ids);
      const second = undoIn((await operator.get('/operator/leads')).text) ?? expect.fail('there is no button');
      operator = await signIn(service, 'Al');
      expect(await undo(second)).toBe('Nothing is left to undo.');
      expect(await progressOf(ids)).toEqual(['answered']);
    });
  });

  describe('POST /operator/leads/:id/note', () => {
    test('saves a note and shows the note, and the audit entry does not contain its text', async () => {
      const [id = ''] = await keep(submissionRow());
      const page = `/operator/leads/${id}`;
      const note = '  Called.\r\n<b>Wants Tuesday</b>  ';
      expect((await operator.press(`${page}/note`, { note, page })).headers.get('location')).toBe(page);
      expect((await rowOf(id))?.note).toBe('Called.\n<b>Wants Tuesday</b>');
      const { text } = await operator.get(page);
      expect(resultIn(text)).toBe('The note was saved.');
      expect(text).toContain('Called.\n&lt;b&gt;Wants Tuesday&lt;/b&gt;</textarea>');
      expect(await audit()).toEqual([['noted', { ids: [id] }]]);
      await operator.press(`${page}/note`, { note: ' ', page });
      expect((await rowOf(id))?.note).toBeNull();
      expect(resultIn((await operator.get(page)).text)).toBe('The note was removed.');
    });

    test('accepts a note of 4,000 characters of four bytes each', async () => {
      const [id = ''] = await keep(submissionRow());
      expect((await operator.press(`/operator/leads/${id}/note`, { note: '🎨'.repeat(4_000) })).status).toBe(303);
      expect([...((await rowOf(id))?.note ?? '')]).toHaveLength(4_000);
    });

    test.each([
      ['4,001 characters', 'a'.repeat(4_001), 'longer than 4,000 characters'],
      ['a control character', 'a\u0001b', 'characters that can’t be used'],
    ])('answers 400 to a note with %s, shows the typed text again and changes nothing', async (_what, note, why) => {
      const [id = ''] = await keep(submissionRow({ note: 'before' }));
      const page = `/operator/leads/${id}?progress=new`;
      const { status, text } = await operator.press(`/operator/leads/${id}/note`, { note, page });
      expect(status).toBe(400);
      expect(text).toContain(why);
      expect(text).toContain(`${note}</textarea>`);
      expect([(await rowOf(id))?.note, await audit()]).toEqual(['before', []]);
    });

    test.each<[string, string, Record<string, string>, number]>([
      ['an unknown id', UNKNOWN, { note: 'x' }, 404],
      ['no note', '', {}, 400],
    ])('refuses a note form with %s', async (_what, given, form, expected) => {
      const [own = ''] = await keep(submissionRow());
      expect((await operator.press(`/operator/leads/${given || own}/note`, form)).status).toBe(expected);
    });

    test('answers 404 for a lead whose content is deleted', async () => {
      const [id = ''] = await keep(submissionRow({ email: null }));
      expect((await operator.press(`/operator/leads/${id}/note`, { note: 'x' })).status).toBe(404);
      expect((await rowOf(id))?.note).toBeNull();
    });
  });

  describe('GET /operator/leads/new', () => {
    const at = (minute: number) => new Date(Date.parse('2026-09-01T00:00:00Z') + minute * 60_000).toISOString();

    test('counts the leads newer than the cursor, up to 100, without newsletter submissions', async () => {
      await keep(
        ...Array.from({ length: 105 }, (_, n) => submissionRow({ receivedAt: at(n) })),
        submissionRow({ receivedAt: at(200), form: 'newsletter', fields: { email: 'a@x.co' } }),
        submissionRow({ receivedAt: at(103.5), progress: 'spam' }),
      );
      const list = (await operator.get('/operator/leads?q=nothing')).text;
      const href = /data-count="([^"]+)"/.exec(list)?.[1] ?? '';
      const countAt = async (path: string) => JSON.parse((await operator.get(path)).text);
      expect(await countAt(href)).toEqual({ count: 0 });
      await keep(submissionRow({ receivedAt: at(300) }));
      expect(await countAt(href)).toEqual({ count: 1 });
      expect(await countAt(`/operator/leads/new?after=${Date.parse(at(102.5))}_${UNKNOWN}`)).toEqual({ count: 4 });
      expect(await countAt('/operator/leads/new?after=x')).toEqual({ count: 100 });
    });

    test('counts no lead that came before the list was loaded, spam included', async () => {
      await keep(submissionRow({ receivedAt: at(1) }), submissionRow({ receivedAt: at(2), progress: 'spam' }));
      const href = /data-count="([^"]+)"/.exec((await operator.get('/operator/leads')).text)?.[1] ?? '';
      expect(JSON.parse((await operator.get(href)).text)).toEqual({ count: 0 });
    });

    test('does not extend the session, and does not consume the result of a change', async () => {
      const ids = await keep(submissionRow());
      await bulk('won', ids);
      for (let hour = 0; hour < 11; hour += 1) {
        clock.advance(3_600_000);
        expect((await operator.get('/operator/leads/new')).status).toBe(200);
      }
      const before = await service.parts.storage.read((db) =>
        db
          .selectFrom('operator_sessions')
          .select(['last_seen_at', 'result'])
          .where('result', '=', '1 lead marked as won.'),
      );
      expect(before[0]?.result).toBe('1 lead marked as won.');
      expect(clock.now().getTime() - Date.parse(before[0]?.last_seen_at ?? '')).toBeGreaterThan(10 * 3_600_000);
      clock.advance(2 * 3_600_000);
      expect((await operator.get('/operator/leads/new')).status).not.toBe(200);
    });
  });

  describe('GET /operator/leads', () => {
    test('leaves out spam and newsletter submissions unless the filter selects them', async () => {
      await keep(
        submissionRow({ fields: { name: 'A', email: 'a@x.co' } }),
        submissionRow({ fields: { name: 'B', email: 'b@x.co' }, progress: 'spam' }),
        submissionRow({ form: 'newsletter', fields: { email: 'c@x.co' } }),
        submissionRow({ fields: { name: 'D', email: 'd@x.co' }, progress: 'won', data: { client: 'acme' } }),
      );
      const names = async (query: string) => namesIn((await operator.get(`/operator/leads${query}`)).text).sort();
      expect(await names('')).toEqual(['A', 'D']);
      expect(await names('?progress=spam')).toEqual(['B']);
      expect(await names('?form=newsletter')).toEqual(['c@x.co']);
      expect(await names('?agent=acme')).toEqual(['D']);
      expect(await names('?agent=other')).toEqual([]);
      expect(await names('?agent=&progress=none')).toEqual(['A', 'D']);
    });

    test('shows the number of leads of each progress and of undelivered leads, also if a filter is set', async () => {
      await keep(
        submissionRow(),
        submissionRow({ progress: 'spam' }),
        submissionRow({ progress: 'won', status: 'undelivered' }),
        submissionRow({ form: 'newsletter', fields: { email: 'c@x.co' }, status: 'undelivered' }),
      );
      const { text } = await operator.get('/operator/leads?q=nobody');
      const chips = [...text.matchAll(/<a href="[^"]*"(?: aria-current="true")?>(\w+) <span>(.*?)<\/span><\/a>/g)];
      expect(chips.map(([, name, count]) => `${name} ${count}`)).toEqual([
        'New 1',
        'Answered 0',
        'Won 1',
        'Lost 0',
        'Spam 1',
        'Undelivered 1',
      ]);
    });
  });

  test('a lead’s page has the newer and the older lead of the same filter, and a link to answer', async () => {
    const at = (n: number) => new Date(Date.parse('2026-09-01T00:00:00Z') + n * 60_000).toISOString();
    const [oldest = '', , middle = '', , newest = ''] = await keep(
      ...Array.from({ length: 5 }, (_, n) =>
        submissionRow({
          receivedAt: at(n),
          progress: n % 2 === 0 ? 'won' : 'new',
          fields: { name: `N${n}`, email: 'n@x.co' },
        }),
      ),
    );
    const { text } = await operator.get(`/operator/leads/${middle}?progress=won`);
    expect(text).toContain(`rel="prev" href="/operator/leads/${newest}?progress=won"`);
    expect(text).toContain(`rel="next" href="/operator/leads/${oldest}?progress=won"`);
    expect(text).toContain('href="/operator/leads?progress=won">All leads');
    expect(text).toMatch(/href="mailto:n@x\.co\?subject=[^"&]+">Reply/);
    expect((await operator.get(`/operator/leads/${newest}?progress=won`)).text).not.toContain('rel="prev"');
  });
});
