import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { deleteExpired } from '../../src/console/sessions.ts';
import { isDiskLow } from '../../src/notices/probes.ts';
import { testClock } from '../support/clock.ts';
import type { Service } from '../support/service.ts';
import { keepRows, submissionRow } from '../support/submissions.ts';
import { linkFor, type Operator, signIn, startWithConsole } from './operator.ts';
import { consolePages } from './pages.ts';

const DAY_MS = 86_400_000;
const clock = testClock('2026-11-20T12:00:00.000Z');
let service: Service;
let operator: Operator;
beforeAll(async () => {
  const environment = { REDELIVERY: 'off', UPSTREAM_URL: 'http://127.0.0.1:1/' };
  service = await startWithConsole({ clock, environment });
});
afterAll(() => service.close());
beforeEach(async () => {
  operator = await signIn(service);
});

/** Returns the page once the days are counted. On a busy machine, that takes longer than the page waits. */
async function overview(): Promise<string> {
  for (;;) {
    const { text } = await operator.get('/operator');
    if (!/being counted/.test(text)) return text;
  }
}

describe('GET /operator (reference §12.6)', () => {
  test('states that nothing needs attention, and links to all pages', async () => {
    const text = await overview();
    expect(text).toContain('Nothing. There is no new lead, and every lead is delivered.');
    expect(text).toContain('Nothing has been sent yet.');
    expect(text).toContain('<title>Overview · ');
    expect(text).toContain('<dd>0 submissions from bots in the last 30 days</dd>');
    expect(text).toMatch(/<dt>Disk<\/dt><dd>[\d,.]+ GB of [\d,.]+ GB free<\/dd>/);
    for (const path of consolePages) {
      const link = new RegExp(`<a href="${path}"( aria-current="page")?>\\w+</a>`);
      expect(text, 'Add the page to `navigation` in src/console/templates.ts').toMatch(link);
    }
  });

  test('lists undelivered leads with the oldest and its reason, failed messages and reports', async () => {
    const { storage } = service.parts;
    await keepRows(storage, [
      submissionRow({
        receivedAt: '2026-11-18T10:00:00.000Z',
        status: 'undelivered',
        reason: 'rejected',
        attempts: [{ at: '2026-11-18T10:00:00.000Z', outcome: 'rejected' }],
      }),
      submissionRow({ receivedAt: '2026-11-19T10:00:00.000Z', status: 'undelivered' }),
      submissionRow({
        receivedAt: '2026-11-19T11:00:00.000Z',
        status: 'undelivered',
        reason: 'execution_failed',
        origin: 'agent',
      }),
    ]);
    await storage.write(async (tx) => {
      const message = { kind: 'confirmation' as const, address: 'a@x.co', about: null };
      const when = { requested_at: '2026-11-19T00:00:00Z', next_attempt_at: '', attempts: 9 };
      await tx
        .insertInto('messages')
        .values({ ...message, ...when, key: 'k', priority: 1, message_id: 'm', status: 'dead' })
        .execute();
      await tx
        .insertInto('confirmation_reports')
        .values({ client: 'acme', mailbox_digest: 'd', reported_at: '2026-11-19T09:00:00.000Z', seen: 0, sandbox: 0 })
        .execute();
    });
    clock.advance(600_000); // A day's count is cached for this long.
    const text = await overview();
    expect(text).toContain('To do');
    expect(text).toContain('3 new leads');
    expect(text).toContain('Reports by agent: acme 1.');
    // An agent's undelivered lead counts as settled, because the agent was asked to start again.
    expect(text).toContain('2 leads did not arrive');
    expect(text).toContain('18 Nov 2026, 11:00: the receiver rejected the lead');
    expect(text).toContain('1 message could not be sent');
    expect(text).toContain('1 person reported an unwanted request of an agent');
    expect(text).toContain('rejected, <time');
    expect(text).toContain('</span>2 from browsers</span>');
    expect(text).toContain('</span>1 from agents</span>');
    expect(text).toMatch(/19 Nov 2026<\/th><td>1<\/td><td>1</);
    expect(text).toContain('<strong><a href="/operator/leads?progress=new">3 new leads</a></strong>');
    // 30 bars of width 20, with gaps of 4. The day with the most leads, 2, has the height 100.
    expect(text).toContain('<span class="tick note" aria-hidden="true">2</span>');
    expect(text).toContain('viewBox="0 0 716 100"');
    expect(text.match(/<rect [^>]+>/g)).toEqual([
      '<rect class="browser" x="648" y="50" width="20" height="50"/>',
      '<rect class="browser" x="672" y="50" width="20" height="50"/>',
      '<rect class="agent" fill="url(#agent-lines)" x="672" y="0" width="20" height="50"/>',
    ]);
  });

  test('“Seen” marks the reports up to a time as seen, once, and records their number', async () => {
    const { storage } = service.parts;
    const at = (hour: number) => `2026-11-19T${hour}:00:00.000Z`;
    const report = { mailbox_digest: 'd', seen: 0, sandbox: 0 } as const;
    await storage.write(async (tx) => {
      await tx.deleteFrom('confirmation_reports').execute();
      const rows = [10, 11, 12].map((hour) => ({ ...report, client: `c${hour}`, reported_at: at(hour) }));
      await tx.insertInto('confirmation_reports').values(rows).execute();
    });
    const audited = async () => {
      const rows = await storage.read((db) => db.selectFrom('operator_audit').select(['what', 'about']).orderBy('id'));
      return rows.filter(({ what }) => what === 'saw_report').map(({ about }) => JSON.parse(about));
    };
    const unseen = async () =>
      (await storage.read((db) => db.selectFrom('confirmation_reports').select('client').where('seen', '=', 0))).length;
    const press = (form: Record<string, string>) => operator.press('/operator/confirmations', form);

    const bad: Record<string, string>[] = [
      { until: at(12) },
      { do: 'see', until: at(12) },
      { do: 'seen' },
      { do: 'seen', until: '2100' },
    ];
    for (const form of bad) {
      expect((await press(form)).status).toBe(400);
    }
    expect([await unseen(), await audited()]).toEqual([3, []]);
    for (const [hour, result] of [
      [11, '2 reports marked as seen.'],
      [11, undefined],
      [12, '1 report marked as seen.'],
    ] as const) {
      expect((await press({ do: 'seen', until: at(hour) })).status).toBe(303);
      expect(/\d reports? marked as seen\./.exec((await operator.get('/operator')).text)?.[0]).toBe(result);
    }
    expect([await unseen(), await audited()]).toEqual([0, [{ count: 2 }, { count: 1 }]]);
  });

  test('states that the embedded inbox stores the leads', async () => {
    const embedded = await startWithConsole({ clock });
    try {
      const { text } = await (await signIn(embedded)).get('/operator');
      expect(text).toContain('<dd>Leads are stored here, in the embedded inbox.</dd>');
    } finally {
      await embedded.close();
    }
  });

  test('treats a disk as nearly full if less than 1 GB and less than 5 % are free', () => {
    expect(isDiskLow({ freeBytes: 9e8, wholeBytes: 1e12 })).toBe(true);
    expect(isDiskLow({ freeBytes: 9e8, wholeBytes: 1e10 })).toBe(false);
  });
});

test('deleteExpired deletes expired sessions and links, and the audit after the retention of receipts', async () => {
  const { storage } = service.parts;
  await linkFor(service);
  const nowMs = clock.now().getTime();
  const left = async () => {
    const all = await Promise.all([
      storage.read((db) => db.selectFrom('operator_sessions').select('digest')),
      storage.read((db) => db.selectFrom('operator_links').select('digest')),
      storage.read((db) => db.selectFrom('operator_audit').select('id')),
    ]);
    return all.map((rows) => rows.length > 0);
  };
  await deleteExpired(storage, { nowMs: nowMs + 60_000, days: 400 });
  expect(await left()).toEqual([true, true, true]);
  await deleteExpired(storage, { nowMs: nowMs + 13 * 3_600_000, days: 400 });
  expect(await left()).toEqual([false, false, true]);
  await deleteExpired(storage, { nowMs: nowMs + 401 * DAY_MS, days: 400 });
  expect(await left()).toEqual([false, false, false]);
});
