import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Log } from '../../src/platform/log.ts';
import { type Storage, StorageUnavailable } from '../../src/storage/database.ts';
import { openSubmissionRetention } from '../../src/submissions/retention.ts';
import { steppedClock, type TestClock, testClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { allRows, keepRows, submissionRow } from '../support/submissions.ts';

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
type Given = Parameters<typeof submissionRow>[0];

describe.each(databases)('retention of submissions on %s', (name, create) => {
  // PostgreSQL uses its own clock.
  const clock: TestClock = testClock(new Date().toISOString());
  let database: TestDatabase;
  let storage: Storage;
  const lines: unknown[][] = [];
  const note = (...line: unknown[]) => void lines.push(line);
  const log = { info: note, error: note } as unknown as Log;
  const open = (days = 30, within = storage) => openSubmissionRetention({ storage: within, clock, log, days });

  beforeAll(async () => {
    database = await create();
    storage = await database.open(clock);
  });
  beforeEach(async () => {
    lines.length = 0;
    await storage.write((tx) => tx.deleteFrom('submissions').execute());
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

  /** Returns which part of one row remains: its content, its shell, or nothing. */
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
    // An id in hex may contain the letters of a name.
    expect(JSON.stringify(left).replaceAll(id, '')).not.toMatch(/ada|hello/i);
    return 'shell';
  }
  const spam: Given = { status: 'dismissed', reason: 'spam' };
  const failed: Given = { status: 'undelivered', reason: 'attempts_used_up' };
  const agents: Given = { origin: 'agent' };
  const waiting: Given = { status: 'waiting', step: 1, next_attempt_ms: 1 };

  test.each<[string, number, Given, string, number?]>([
    ['keeps the content if delivered, within 30 days', 30 + young, {}, 'content'],
    ['deletes the content if delivered, after 30 days', 30 + old, {}, 'shell'],
    ['keeps the content if delivered, within 400 configured days', 399, {}, 'content', 400],
    ['deletes the content if delivered, with 0 days configured', old, {}, 'shell', 0],
    ['deletes the content if delivered for an agent', 31, agents, 'shell'],
    ['keeps the content if dismissed, within 30 days', 30 + young, spam, 'content'],
    ['deletes the content if dismissed, after 30 days', 30 + old, spam, 'shell'],
    ['keeps the content if undelivered, within 90 days', 90 + young, failed, 'content'],
    ['keeps the content if undelivered, within 90 days, with 0 days configured', 90 + young, failed, 'content', 0],
    ['deletes the content if undelivered, after 90 days, with 400 days configured', 90 + old, failed, 'shell', 400],
    ['deletes the content if undelivered for an agent', 91, { ...failed, ...agents }, 'shell'],
    ['deletes the content if marked for resending', 91, { ...failed, resend_asked_ms: 1 }, 'shell'],
    ['keeps the content while waiting', 500, waiting, 'content'],
    ['keeps the content while being sent', 500, { status: 'sending' }, 'content'],
    ['keeps the content if stored in the inbox', 5_000, { stored_here: 1 }, 'content'],
    ['keeps a row without content, within 30 more days', 60 + young, empty, 'shell'],
    ['deletes a row without content, after 30 more days', 60 + old, empty, 'nothing'],
    ['keeps a row without content, within 30 days, with 0 days configured', 30 + young, empty, 'shell', 0],
    ['deletes a row without content, after 30 days, with 0 days configured', 30 + old, empty, 'nothing', 0],
    ['deletes a dismissed row without content', 60 + old, { ...spam, ...empty }, 'nothing'],
    ['keeps an undelivered row without content, within 120 days', 120 + young, { ...failed, ...empty }, 'shell'],
    ['deletes an undelivered row without content, after 120 days', 120 + old, { ...failed, ...empty }, 'nothing'],
    ['deletes a row with content, after the end of its row', 90, {}, 'nothing'],
  ])('%s (age: %d days)', async (_what, days, given, left, set) => {
    expect(await leftOf(days, given, set)).toBe(left);
  });

  test('removes the operator’s mark together with the content', async () => {
    await keepRows(storage, [aged(91, { ...failed, resend_asked_ms: 1 })]);
    await open().work();
    expect((await allRows(storage))[0]?.resend_asked_ms).toBeNull();
  });

  test('clears 450 rows in batches, each once, if two instances run at the same time', async () => {
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
  ])('finds rows by an index if their e-mail %s null', async (email, index) => {
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

  test('runs 5 s after the start and every hour, and logs an unavailable store once', async () => {
    const clock = steppedClock();
    /** Advances the clock, and lets what is due run. */
    const pass = async (ms: number) => {
      clock.advance(ms);
      await clock.turn();
    };
    let away = true;
    let tried = 0;
    const write: Storage['write'] = async () => {
      if (!away) return 0 as never;
      tried += 1;
      throw new StorageUnavailable('away');
    };
    const retention = openSubmissionRetention({ storage: { ...storage, write }, clock, log, days: 30 });
    retention.start();
    await pass(4_999);
    expect(tried).toBe(0);
    await pass(1);
    for (let hour = 1; hour <= 2; hour += 1) await pass(3_600_000);
    expect([tried, lines]).toEqual([
      3,
      [[{ err: expect.any(StorageUnavailable) }, 'submissions past retention not removed']],
    ]);
    away = false;
    await pass(3_600_000);
    away = true;
    await pass(3_600_000);
    expect([tried, lines.length]).toEqual([4, 2]);
    await retention.close();
    await pass(9 * 3_600_000);
    expect(tried).toBe(4);
  });

  test.each([1, 2])('logs the number of cleared and deleted rows: %i cleared, 1 deleted', async (emptied) => {
    await keepRows(storage, [...Array.from({ length: emptied }, () => aged(31)), aged(61, empty)]);
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
    expect(lines).toEqual([[{ emptied, deleted: 1 }, 'submissions past retention removed']]);
    await retention.close();
  });

  test.runIf(name === 'PostgreSQL')('skips rows that another instance has locked', async () => {
    const [held, free] = [aged(31), aged(31)];
    await keepRows(storage, [held, free]);
    await storage.write(async (other) => {
      const row = other.selectFrom('submissions').select('id').where('id', '=', held.id);
      await row.forUpdate().execute();
      expect((await open().work()).emptied).toBe(1);
    });
  });
});
