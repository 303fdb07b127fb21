/** Exact ends of sessions, links and audit entries (reference §12.3). */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { digestOfToken, newToken } from '../../src/console/links.ts';
import { deleteExpired, openSessions, type Session } from '../../src/console/sessions.ts';
import { newId } from '../../src/platform/random.ts';
import { type Storage, StorageUnavailable } from '../../src/storage/database.ts';
import { type TestClock, testClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const START = Date.parse('2026-09-01T12:00:00.000Z');
const at = (ms: number) => new Date(START + ms).toISOString();

describe.each(databases)('on %s', (_name, create) => {
  let database: TestDatabase;
  let clock: TestClock;
  let storage: Storage;
  beforeEach(async () => {
    [database, clock] = [await create(), testClock()];
    storage = await database.open(clock);
  });
  afterEach(async () => {
    await storage.close();
    await database.remove();
  });

  const addSession = async (own: Partial<Session> = {}) => {
    const token = newToken();
    const digest = digestOfToken(token) ?? '';
    const row = { name: 'Jo', mailed: 0 as const, signed_in_at: at(0), last_seen_at: at(0), result: null, undo: null };
    await storage.write((tx) =>
      tx
        .insertInto('operator_sessions')
        .values({ ...row, digest, ...own })
        .execute(),
    );
    return { token, digest: own.digest ?? digest };
  };
  const sessions = () => openSessions({ storage, clock, newId });

  test('a session ends exactly 12 hours after its last request', async () => {
    const { token } = await addSession();
    clock.advance(12 * HOUR_MS - 1);
    expect(await sessions().find(token, { extend: false })).toBeDefined();
    clock.advance(1);
    expect(await sessions().find(token)).toBeUndefined();
    expect(await sessions().active()).toEqual([]);
  });

  test('a session ends exactly 7 days after the sign-in', async () => {
    const { token } = await addSession({ last_seen_at: at(7 * DAY_MS - 1) });
    clock.advance(7 * DAY_MS - 1);
    expect(await sessions().find(token)).toBeDefined();
    clock.advance(1);
    expect(await sessions().find(token)).toBeUndefined();
  });

  test('the time of the last request is stored once a minute has passed', async () => {
    const { token } = await addSession();
    const lastSeen = async () => (await sessions().active()).map(({ last_seen_at }) => last_seen_at);
    clock.advance(MINUTE_MS - 1);
    await sessions().find(token);
    expect(await lastSeen()).toEqual([at(0)]);
    clock.advance(1);
    await sessions().find(token, { extend: false });
    expect(await lastSeen()).toEqual([at(0)]);
    await sessions().find(token);
    expect(await lastSeen()).toEqual([at(MINUTE_MS)]);
  });

  test('a session stays valid if only the time of its last request can’t be stored', async () => {
    const { token } = await addSession();
    clock.advance(MINUTE_MS);
    const failing = (error: Error) =>
      openSessions({ storage: { ...storage, write: () => Promise.reject(error) }, clock, newId });
    expect(await failing(new StorageUnavailable('away')).find(token)).toMatchObject({ name: 'Jo' });
    await expect(failing(new RangeError('a defect')).find(token)).rejects.toThrow('a defect');
  });

  test('active returns the last used session first', async () => {
    await addSession({ digest: 'middle', last_seen_at: at(-2 * MINUTE_MS) });
    await addSession({ digest: 'newest', last_seen_at: at(-MINUTE_MS) });
    await addSession({ digest: 'oldest', last_seen_at: at(-3 * MINUTE_MS) });
    expect((await sessions().active()).map(({ digest }) => digest)).toEqual(['newest', 'middle', 'oldest']);
  });

  test('takeResult returns a result once, and no result that a newer one has replaced', async () => {
    const { token, digest } = await addSession({ result: 'first' });
    const session = (await sessions().find(token)) as Session;
    await storage.write((tx) =>
      tx.updateTable('operator_sessions').set({ result: 'second' }).where('digest', '=', digest).execute(),
    );
    expect(await sessions().takeResult(session)).toBeUndefined();
    const newer = (await sessions().find(token)) as Session;
    expect([await sessions().takeResult(newer), await sessions().takeResult(newer)]).toEqual(['second', undefined]);
  });

  test('deleteExpired deletes what ends now, and nothing that is valid for one more millisecond', async () => {
    const recent = { signed_in_at: at(-DAY_MS), last_seen_at: at(0) };
    await addSession({ digest: 'valid', signed_in_at: at(1 - 7 * DAY_MS), last_seen_at: at(1 - 12 * HOUR_MS) });
    await addSession({ ...recent, digest: 'too old', signed_in_at: at(-7 * DAY_MS) });
    await addSession({ ...recent, digest: 'unused', last_seen_at: at(-12 * HOUR_MS) });
    const link = { name: 'Jo', mailed: 0 as const, message: null, page: null, created_at: at(0), used_at: null };
    const entry = { name: 'Jo', what: 'signed_in', about: '{}' };
    await storage.write(async (tx) => {
      const links = [
        { ...link, digest: 'valid', expires_at: at(1) },
        { ...link, digest: 'over', expires_at: at(0) },
      ];
      await tx.insertInto('operator_links').values(links).execute();
      const entries = [
        { ...entry, id: 'recent', at: at(-2 * DAY_MS) },
        { ...entry, id: 'old', at: at(-2 * DAY_MS - 1) },
      ];
      await tx.insertInto('operator_audit').values(entries).execute();
    });
    await deleteExpired(storage, { nowMs: START, days: 2 });
    const left = [
      await storage.read((db) => db.selectFrom('operator_sessions').select('digest as id')),
      await storage.read((db) => db.selectFrom('operator_links').select('digest as id')),
      await storage.read((db) => db.selectFrom('operator_audit').select('id')),
    ];
    expect(left.map((rows) => rows.map(({ id }) => id))).toEqual([['valid'], ['valid'], ['recent']]);
  });
});
