import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Log } from '../../src/operations/log.ts';
import { type Storage, StorageUnavailable } from '../../src/storage/database.ts';
import { openSubmissionRetention } from '../../src/submissions/retention.ts';
import { type TestClock, testClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { allRows, keepRows, submissionRow } from '../support/submissions.ts';

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
type Given = Parameters<typeof submissionRow>[0];

describe.each(databases)('submissions on %s', (name, create) => {
  // PostgreSQL goes by its own clock.
  const clock: TestClock = testClock(new Date().toISOString());
  let database: TestDatabase;
  let storage: Storage;
  const lines: unknown[][] = [];
  const note = (...line: unknown[]) => void lines.push(line);
  const log = { info: note, error: note } as unknown as Log;
  const open = (days = 30, within = storage) =>
    openSubmissionRetention({ storage: within, clock, log, days });

  beforeAll(async () => {
    database = await create();
    storage = await database.open(clock);
  });
  beforeEach(async () => {
    lines.length = 0;
    await storage.write(async (tx) => {
      await tx.deleteFrom('submissions').execute();
      await tx.deleteFrom('inbox').execute();
    });
  });
  afterAll(async () => {
    await storage.close();
    await database.remove();
  });

  const aged = (days: number, given: Given = {}) =>
    submissionRow({ status_since_ms: clock.now().getTime() - days * DAY_MS, ...given });
  const empty: Given = { fields: {}, fields_digest: null };
  const young = -MINUTE_MS / DAY_MS;
  const old = MINUTE_MS / DAY_MS;

  /** What is left of one row: all of it, its shell, or nothing. */
  async function leftOf(days: number, given: Given, set = 30) {
    const row = aged(days, given);
    await keepRows(storage, [row]);
    await open(set).work();
    const [left] = await allRows(storage);
    if (left === undefined) return 'nothing';
    if (left.email !== null) {
      expect(left).toEqual(row);
      return 'content';
    }
    const { id, form, status, status_since_ms, attempts } = row;
    expect(left).toMatchObject({ id, form, status, status_since_ms, attempts });
    expect(JSON.parse(left.event).data).toMatchObject({ id, form, fields: {} });
    // An id in hex may hold the letters of a name.
    expect(JSON.stringify(left).replaceAll(id, '')).not.toMatch(/ada|hello/i);
    return 'shell';
  }
  const spam: Given = { status: 'dismissed', reason: 'spam' };
  const failed: Given = { status: 'undelivered', reason: 'attempts_used_up' };
  const agents: Given = { origin: 'agent' };
  const waiting: Given = { status: 'waiting', step: 1, next_attempt_ms: 1 };

  test.each<[string, number, Given, string, number?]>([
    ['delivered, in its days', 30 + young, {}, 'content'],
    ['delivered, past them', 30 + old, {}, 'shell'],
    ['delivered, where 400 days are set', 399, {}, 'content', 400],
    ['delivered, where none are set', old, {}, 'shell', 0],
    ['delivered, of an agent', 31, agents, 'shell'],
    ['dismissed, in its days', 30 + young, spam, 'content'],
    ['dismissed, past them', 30 + old, spam, 'shell'],
    ['undelivered, in 90 days', 90 + young, failed, 'content'],
    ['undelivered, in 90 days whatever is set', 90 + young, failed, 'content', 0],
    ['undelivered, past them whatever is set', 90 + old, failed, 'shell', 400],
    ['undelivered, of an agent', 91, { ...failed, ...agents }, 'shell'],
    ['asked for again', 91, { ...failed, resend_asked_ms: 1 }, 'shell'],
    ['waiting', 500, waiting, 'content'],
    ['being sent', 500, { status: 'sending' }, 'content'],
    ['kept by the inbox', 5_000, { stored_here: 1 }, 'content'],
    ['without fields, in 30 more days', 60 + young, empty, 'shell'],
    ['without fields, past them', 60 + old, empty, 'nothing'],
    ['without fields, where none are set', 30 + young, empty, 'shell', 0],
    ['without fields, past 30, where none are set', 30 + old, empty, 'nothing', 0],
    ['without fields, dismissed', 60 + old, { ...spam, ...empty }, 'nothing'],
    ['without fields, undelivered', 120 + young, { ...failed, ...empty }, 'shell'],
    ['without fields, undelivered for long', 120 + old, { ...failed, ...empty }, 'nothing'],
    ['with content, but long past', 90, {}, 'nothing'],
  ])('%s (%d days)', async (_what, days, given, left, set) => {
    expect(await leftOf(days, given, set)).toBe(left);
  });

  test('what is asked for again and loses its content is not asked for any more', async () => {
    await keepRows(storage, [aged(91, { ...failed, resend_asked_ms: 1 })]);
    await open().work();
    expect((await allRows(storage))[0]?.resend_asked_ms).toBeNull();
  });

  test('go in several batches, and two instances at once end each of them once', async () => {
    await keepRows(
      storage,
      Array.from({ length: 450 }, (_, number) => aged(31 + number / 450)),
    );
    const other = await database.open(clock);
    const both = await Promise.all([open().work(), open(30, other).work()]);
    await other.close();
    expect(both[0].emptied + both[1].emptied).toBe(450);
    expect((await allRows(storage)).every(({ email }) => email === null)).toBe(true);
  });

  test.each([
    ['is not', 'submissions_content_ends'],
    ['is', 'submissions_row_ends'],
  ])('are found by an index of what %s null', async (email, index) => {
    const query = `select id from submissions where status = 'delivered' and status <> 'sending' and stored_here = 0 and email ${email} null and status_since_ms < 5 order by status_since_ms limit 200`;
    const run = (sql: string) => ({
      sql,
      parameters: [],
      query: {} as never,
      queryId: {} as never,
    });
    const { rows } = await storage.write(async (tx) => {
      if (name === 'SQLite') return tx.executeQuery(run(`explain query plan ${query}`));
      await tx.executeQuery(run('set local enable_seqscan = off'));
      return tx.executeQuery(run(`explain ${query}`));
    });
    expect(JSON.stringify(rows)).toContain(index);
  });

  test('are looked at 5 s after the start and every hour; an absent store is said once', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    let away = true;
    let tried = 0;
    const read: Storage['read'] = async () => {
      tried += 1;
      if (away) throw new StorageUnavailable('away');
      return [];
    };
    const write: Storage['write'] = async () => 0 as never;
    const retention = open(30, { ...storage, dialect: storage.dialect, read, write });
    retention.start();
    await vi.advanceTimersByTimeAsync(4_999);
    expect(tried).toBe(0);
    await vi.advanceTimersByTimeAsync(1 + 2 * 3_600_000);
    expect([tried, lines]).toEqual([
      3,
      [[{ err: expect.any(StorageUnavailable) }, 'old submissions could not be removed']],
    ]);
    away = false;
    await vi.advanceTimersByTimeAsync(3_600_000);
    away = true;
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect([tried, lines.length]).toEqual([5, 2]);
    await retention.close();
    await vi.advanceTimersByTimeAsync(9 * 3_600_000);
    expect(tried).toBe(5);
    vi.useRealTimers();
  });

  test('that a look has ended are counted in the log', async () => {
    await keepRows(storage, [aged(31), aged(31), aged(61, empty)]);
    let look = () => {};
    const after = (_ms: number, callback: () => void) => {
      look = callback;
      return () => {};
    };
    const by = { ...clock, after };
    const retention = openSubmissionRetention({ storage, clock: by, log, days: 30 });
    retention.start();
    look();
    await vi.waitFor(() => expect(lines).toHaveLength(1));
    expect(lines).toEqual([
      [{ emptied: 2, deleted: 1 }, 'submissions past their retention were removed'],
    ]);
    await retention.close();
  });

  test.runIf(name === 'PostgreSQL')(
    'that another instance holds are passed over, not waited for',
    async () => {
      const [held, free] = [aged(31), aged(31)];
      await keepRows(storage, [held, free]);
      await storage.write(async (other) => {
        const row = other.selectFrom('submissions').select('id').where('id', '=', held.id);
        await row.forUpdate().execute();
        expect((await open().work()).emptied).toBe(1);
      });
    },
  );

  describe('that an older instance wrote into its inbox', () => {
    const inboxRow = (id: string, receivedAt: string, type = 'lead.created') => ({
      event_id: id,
      type,
      form: type === 'lead.created' ? 'contact' : 'newsletter',
      email: 'ada@example.com',
      received_at: receivedAt,
      event: JSON.stringify({ type, data: { id, origin: 'agent', fields: {} } }),
    });
    const write = (...rows: ReturnType<typeof inboxRow>[]) =>
      storage.write((tx) => tx.insertInto('inbox').values(rows).execute());
    const ids = async () => (await allRows(storage)).map(({ id }) => id);

    test('are copied once, as the migration copies them', async () => {
      await write(inboxRow('a', '2026-09-01T00:00:00.000Z'));
      expect((await open().work()).copied).toBe(1);
      expect((await open().work()).copied).toBe(0);
      const receivedMs = Date.parse('2026-09-01T00:00:00.000Z');
      expect(await allRows(storage)).toMatchObject([
        {
          id: 'a',
          form: 'contact',
          origin: 'agent',
          email: 'ada@example.com',
          subscriber: null,
          received_ms: receivedMs,
          status: 'delivered',
          status_since_ms: receivedMs,
          stored_here: 1,
        },
      ]);
    });

    test('are copied from a day before the newest copy on, in batches, however they lie', async () => {
      await write(inboxRow('c', '2026-09-10T00:00:00.000Z'));
      await open().work();
      await write(
        inboxRow('long before', '2026-09-08T23:00:00.000Z'),
        inboxRow('a', '2026-09-09T12:00:00.000Z'),
        ...Array.from({ length: 250 }, (_, at) => inboxRow(`d${at}`, '2026-09-11T00:00:00.000Z')),
      );
      expect((await open().work()).copied).toBe(251);
      expect(await ids()).not.toContain('long before');
    });

    test('a subscriber who is there already stays one row', async () => {
      const day = '2026-09-01T00:00:00.000Z';
      const fields = { email: 'ada@example.com' };
      const own = submissionRow({ form: 'newsletter', subscriber: 'ada@example.com', fields });
      await keepRows(storage, [{ ...own, stored_here: 1 }]);
      await write(inboxRow('a', day, 'subscriber.created'), inboxRow('b', day));
      expect((await open().work()).copied).toBe(1);
      expect((await ids()).sort()).toEqual([own.id, 'b'].sort());
    });
  });
});
