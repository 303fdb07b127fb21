/** Indexes that SQLite uses without statistics. With a million rows, a wrong one would block everybody. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { latestFailed } from '../../../src/mail/failed-messages.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import type { Storage } from '../../../src/storage/database.ts';
import type { SubmissionFilter } from '../../../src/submissions/read/filter.ts';
import { submissionPage } from '../../../src/submissions/read/list.ts';
import {
  countChips,
  countDeliveredLater,
  countExpiring,
  countSubmissions,
  dailyCounts,
  deliveryState,
} from '../../../src/submissions/read/statistics.ts';
import { prepareSubmissionQueries } from '../../../src/submissions/submission-queries.ts';
import { databases, type TestDatabase } from '../../support/databases.ts';
import { keepRows, submissionRow } from '../../support/submissions.ts';

describe('query plans of SQLite', () => {
  let database: TestDatabase;
  let storage: Storage;
  let watched: Storage;
  /** Plan lines of all statements since the last call of `plansOf`. */
  let plans: string[] = [];
  beforeAll(async () => {
    const [, create] = databases.find(([name]) => name === 'SQLite') ?? expect.fail();
    database = await create();
    storage = await database.open(systemClock);
    const rows = Array.from({ length: 20 }, (_, number) =>
      submissionRow({ fields: { email: `even${number}@example.com` } }),
    );
    await keepRows(storage, rows);
    watched = {
      ...storage,
      dialect: storage.dialect,
      read: async (query) => {
        const compiled = 'read' in query ? query.read : storage.compile(query);
        const sql = `explain query plan ${compiled.sql}`;
        const said = await storage.read<{ detail: string }>({
          read: { ...compiled, sql } as never,
        });
        plans.push(...said.map(({ detail }) => detail));
        return storage.read({ read: compiled });
      },
    };
  });
  afterAll(async () => {
    await storage.close();
    await database.remove();
  });
  const plansOf = async (look: (storage: Storage) => Promise<unknown>) => {
    plans = [];
    await look(watched);
    return plans;
  };

  test.each<[string, SubmissionFilter, string]>([
    ['a status', { status: 'delivered' }, 'submissions_listed'],
    [
      'a status with form and origin',
      { status: 'dismissed', form: 'contact', origin: 'agent' },
      'submissions_dismissed',
    ],
    ['a period', { since: new Date(0), until: new Date() }, 'submissions_listed'],
    ['a word', { search: [{ text: 'ada', clients: [] }] }, 'submissions_listed'],
    ['a number', { search: [{ text: '+1(555)', clients: [] }] }, 'submissions_listed'],
    [
      'words with a status',
      {
        search: [
          { text: 'a', clients: [] },
          { text: 'b', clients: [] },
        ],
        status: 'delivered',
      },
      'submissions_listed',
    ],
    ['waiting rows', { status: 'waiting' }, 'submissions_open'],
    ['undelivered rows', { status: 'undelivered', origin: 'browser' }, 'submissions_open'],
    ['leads', { onlyLeads: true, withoutSpam: true }, 'INDEX submissions_'],
    ['leads of an agent', { onlyLeads: true, client: 'acme' }, 'submissions_listed'],
    ['leads of a progress', { onlyLeads: true, progress: 'won' }, 'submissions_progress'],
    ['undelivered leads', { onlyLeads: true, withoutSpam: true, status: 'undelivered' }, 'submissions_open'],
    ['a person', { email: 'even1@example.com' }, 'submissions_email'],
  ])('reads %s along one index, without sorting', async (_what, filter, index) => {
    const before = { received_ms: Date.now(), id: 'f' };
    for (const part of [{ limit: 10 }, { before, limit: 0 }]) {
      const said = await plansOf((store) => submissionPage(store, filter, part));
      const walks = said.filter((plan) => !/CO-ROUTINE|sqlite_autoindex|SCAN (place|some)/.test(plan));
      expect(walks.length).toBeGreaterThan(0);
      for (const walk of walks) expect(walk).toContain(index);
    }
  });

  test('counts the leads of each progress in small covering indexes', async () => {
    const said = await plansOf(countChips);
    const walks = said.filter((plan) => /SEARCH|SCAN submissions/.test(plan));
    expect(walks).toHaveLength(6);
    for (const walk of walks.slice(0, 5)) expect(walk).toContain('COVERING INDEX submissions_progress');
    expect(walks[5]).toContain('submissions_open');
  });

  test('counts days in one covering index', async () => {
    const said = await plansOf((store) => dailyCounts(store, new Date(), 'UTC'));
    const walks = said.filter((plan) => /SEARCH|SCAN/.test(plan));
    expect(walks).toHaveLength(30);
    for (const walk of walks) expect(walk).toContain('COVERING INDEX submissions_listed');
  });

  test('counts for metrics and alerts in indexes of open submissions', async () => {
    const metrics = await plansOf(countSubmissions);
    expect(metrics.join()).toMatch(/submissions_under_way.*COVERING INDEX submissions_open/);
    const alerts = await plansOf((store) => countExpiring(store, null));
    expect(alerts.join()).toContain('submissions_open (status=?)');
    const end = await plansOf((store) => countDeliveredLater(store, new Date(0)));
    expect(end.filter((plan) => plan.includes('submissions'))).toEqual([
      expect.stringContaining('submissions_content_ends (status=? AND status_since_ms>?)'),
      expect.stringContaining('submissions_row_ends (status=? AND status_since_ms>?)'),
    ]);
    const state = await plansOf(deliveryState);
    expect(state.filter((plan) => /SCAN submissions$|TEMP B-TREE/.test(plan))).toEqual([]);
    expect(state.join()).toContain('COVERING INDEX submissions_due');
  });

  test('finds marked and due rows by an index each, without sorting', async () => {
    const queries = prepareSubmissionQueries(watched, 1, true);
    const asked = await plansOf((store) => store.read(queries.nextRequested({})));
    expect(asked).toEqual([expect.stringContaining('submissions_asked_for')]);
    const due = await plansOf((store) => store.read(queries.nextDue({})));
    expect(due[0]).toContain('submissions_due');
    expect(due.join('\n')).not.toContain('TEMP B-TREE');
  });

  test('lists failed messages by an index, without sorting', async () => {
    const said = await plansOf((store) => latestFailed(store, 10));
    expect(said).toEqual([expect.stringContaining('messages_dead')]);
  });
});
