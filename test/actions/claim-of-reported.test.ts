import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openExecutions } from '../../src/actions/executions.ts';
import { prepareReport } from '../../src/actions/reports.ts';
import { systemClock } from '../../src/clock.ts';
import type { Storage } from '../../src/storage/database.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { fresh, keep, parts, unreported } from '../support/executions.ts';

describe.each(databases)('beyond §4: a claim on %s', (_name, create) => {
  let database: TestDatabase;
  let storage: Storage;
  beforeAll(async () => {
    database = await create();
    storage = await database.open(systemClock);
  });
  afterAll(async () => {
    await storage.close();
    await database.remove();
  });

  const report = (client: string, mailbox_digest: string) =>
    storage.write(
      prepareReport(storage)({ client, mailbox_digest, reported_at: '2026-09-01T12:00:00.000Z' }),
    );
  const rowsOf = async (id: string) => {
    const executions = await storage.read((db) =>
      db.selectFrom('executions').select('action_id').where('action_id', '=', id),
    );
    const submissions = await storage.read((db) =>
      db.selectFrom('submissions').select('id').where('id', '=', id),
    );
    return { executions: executions.length, submissions: submissions.length };
  };

  describe.each([
    ['with an upstream', false, 1],
    ['into the embedded inbox', true, 0],
  ])('%s', (_where, embedded, submissions) => {
    const open = () => openExecutions({ ...parts, storage, embedded });

    test('of a client that this mailbox has reported is none, under any of its digests, and leaves no row', async () => {
      const client = randomUUID();
      await report(client, 'under the old key');
      for (const digests of [['under the old key'], ['under the new one', 'under the old key']]) {
        const request = fresh({ client });
        expect(await open().claim(request, keep, () => digests)).toBeUndefined();
        expect(await rowsOf(request.actionId)).toEqual({ executions: 0, submissions: 0 });
      }
    });

    test('of a client that others have reported, or of another client, is one', async () => {
      const client = randomUUID();
      await report(client, 'another mailbox');
      for (const request of [fresh({ client }), fresh({ client: randomUUID() })]) {
        const mailbox = () => [request.client === client ? 'this mailbox' : 'another mailbox'];
        expect(await open().claim(request, keep, mailbox)).toMatchObject({
          actionId: request.actionId,
        });
        expect(await rowsOf(request.actionId)).toEqual({ executions: 1, submissions });
      }
    });

    test('of what is taken is none, whoever has reported the client', async () => {
      const request = fresh({ client: randomUUID() });
      expect(await open().claim(request, keep, unreported)).toBeDefined();
      await report(request.client, 'another mailbox');
      const again = fresh({ client: request.client, previewDigest: request.previewDigest });
      expect(await open().claim(again, keep, () => ['this mailbox'])).toBeUndefined();
      expect(await rowsOf(again.actionId)).toEqual({ executions: 0, submissions: 0 });
    });
  });
});
