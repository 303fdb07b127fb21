/** Deletion of expired codes, tokens and connections (reference §26.9). */
import { describe, expect, test } from 'vitest';
import { deleteExpired, openConnections } from '../../src/oauth/connections.ts';
import { testClock } from '../support/clock.ts';
import { databases } from '../support/databases.ts';
import { connectionRow } from './rig.ts';

const NOW = '2026-09-01T12:00:00.000Z';
const SOON = '2026-09-01T12:00:00.001Z';
const unused = { family_digest: null, refresh_digest: null, refresh_expires_at: null, connected_at: null };

test.each(databases)('a new connection deletes codes that nobody used in time, on %s', async (_name, create) => {
  const database = await create();
  const clock = testClock();
  const storage = await database.open(clock);
  const { add } = openConnections({ storage, clock });
  const ids = async () => {
    const rows = await storage.read((db) => db.selectFrom('oauth_connections').select('id').orderBy('id'));
    return rows.map(({ id }) => id);
  };
  const {
    code_expires_at: _,
    family_digest: __,
    refresh_digest,
    refresh_expires_at,
    connected_at,
    last_used_at,
    ...row
  } = connectionRow();
  const connect = (id: string) => add({ ...row, id, code_digest: id });
  for (let n = 0; n < 12; n += 1) await connect(`early ${n}`);
  expect(await ids()).toHaveLength(12);
  clock.advance(60_000);
  await connect('late 1');
  await connect('late 2');
  expect(await ids()).toEqual(['late 1', 'late 2']);
  // Connections at the same time wait for no lock of each other.
  clock.advance(60_000);
  await Promise.all(Array.from({ length: 20 }, (_each, n) => connect(`last ${n}`)));
  await connect('one more');
  expect(await ids()).toHaveLength(21);
  await storage.close();
  await database.remove();
});

describe.each(databases)('deleteExpired, on %s', (_name, create) => {
  test('deletes what has expired, and keeps everything else', async () => {
    const database = await create();
    const storage = await database.open(testClock());
    await storage.write(async (tx) => {
      const rows = [
        connectionRow({ id: 'in use', code_expires_at: NOW, refresh_expires_at: SOON }),
        connectionRow({ id: 'over', code_expires_at: NOW, refresh_expires_at: NOW }),
        connectionRow({ id: 'code', code_expires_at: SOON, ...unused }),
        connectionRow({ id: 'unused code', code_expires_at: NOW, ...unused }),
      ];
      await tx.insertInto('oauth_connections').values(rows).execute();
      const token = { connection: 'in use', scope: 'lead:preview' };
      const tokens = [
        { ...token, digest: 'valid', expires_at: SOON },
        { ...token, digest: 'over', expires_at: NOW },
      ];
      await tx.insertInto('oauth_access_tokens').values(tokens).execute();
    });
    await deleteExpired(storage, new Date(NOW));
    const connections = await storage.read((db) => db.selectFrom('oauth_connections').select('id').orderBy('id'));
    expect(connections).toEqual([{ id: 'code' }, { id: 'in use' }]);
    const tokens = await storage.read((db) => db.selectFrom('oauth_access_tokens').select('digest'));
    expect(tokens).toEqual([{ digest: 'valid' }]);
    await storage.close();
    await database.remove();
  });
});
