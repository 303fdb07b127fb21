/** By which index SQLite, which keeps no statistics here, finds rows: with a million a wrong one holds everybody up. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { latestDead } from '../../src/mail/dead.ts';
import type { Storage } from '../../src/storage/database.ts';
import { findBeginning } from '../../src/submissions/address-search.ts';
import { submissionPage } from '../../src/submissions/listing.ts';
import { parseSearch } from '../../src/submissions/search.ts';
import { prepareSubmissionQueries } from '../../src/submissions/submission-queries.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { keepRows, submissionRow } from '../support/submissions.ts';

describe('on SQLite', () => {
  let database: TestDatabase;
  let storage: Storage;
  let watched: Storage;
  /** What SQLite said of each statement since the last look. */
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
  const reading = () => ({ storage: watched, clock: systemClock });

  test.each(['nobody@', 'even1@'])(
    'a search for %j begins at no status, form or origin that a million may have',
    async (typed) => {
      for (const filter of [{ status: 'delivered' }, { form: 'contact' }] as const) {
        const said = await plansOf(() =>
          submissionPage(reading(), { ...filter, search: parseSearch(typed) }, { limit: 10 }),
        );
        expect(said.join('\n')).toContain('submissions_email');
        expect(said.filter((plan) => /\((status|form|origin)=\?\)/.test(plan))).toEqual([]);
      }
    },
  );

  test('a time is one bound with the place where a page begins', async () => {
    const until = new Date();
    const before = { received_ms: until.getTime() - 1_000, id: 'f' };
    const said = await plansOf(() => submissionPage(reading(), { until }, { before, limit: 10 }));
    expect(said[0]).toMatch(/\(\(received_ms,id\)<\(\?,\?\)\)$/);
  });

  test('who walks in the order of time looks through no addresses', async () => {
    const said = await plansOf(() =>
      findBeginning(
        reading(),
        { begins: 'even' },
        { limit: 1, atMost: 1, sizes: { many: 5, few: 0 } },
      ),
    );
    expect(said.join('\n')).toMatch(/submissions_received \(\(received_ms,id\)>/);
  });

  test('what is looked for every five seconds has an index of its own', async () => {
    const queries = prepareSubmissionQueries(watched, { leaseMs: 1, keepsDelivered: true });
    const asked = await plansOf((store) => store.read(queries.nextAskedFor({})));
    expect(asked).toEqual([expect.stringContaining('submissions_asked_for')]);
    const due = await plansOf((store) => store.read(queries.nextDue({})));
    expect(due[0]).toContain('submissions_due');
    expect(due.join('\n')).not.toContain('TEMP B-TREE');
  });

  test('dead messages are listed without sorting all of them', async () => {
    const said = await plansOf((store) => latestDead(store, 10));
    expect(said).toEqual([expect.stringContaining('messages_dead')]);
  });
});
