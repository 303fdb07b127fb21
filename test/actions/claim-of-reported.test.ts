import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openExecutions } from '../../src/actions/executions.ts';
import { systemClock } from '../../src/platform/clock.ts';
import type { Storage } from '../../src/storage/database.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { fresh, keep, parts, unreported } from '../support/executions.ts';

describe.each(databases)('claim of a reported client on %s (reference §6.14)', (_name, create) => {
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
    storage.write((tx) =>
      tx
        .insertInto('confirmation_reports')
        .values({ client, mailbox_digest, reported_at: '2026-09-01T12:00:00.000Z', seen: 0, sandbox: 0 })
        .execute(),
    );
  const rowsOf = async (id: string) => {
    const executions = await storage.read((db) =>
      db.selectFrom('executions').select('action_id').where('action_id', '=', id),
    );
    const submissions = await storage.read((db) => db.selectFrom('submissions').select('id').where('id', '=', id));
    return { executions: executions.length, submissions: submissions.length };
  };

  describe.each([
    ['with an upstream', false, 1],
    ['into the embedded inbox', true, 0],
  ])('%s', (_where, embedded, submissions) => {
    const open = () => openExecutions({ ...parts, storage, embedded });

    test('refuses the claim and stores no row if the mailbox of the preview reported the client', async () => {
      const client = randomUUID();
      await report(client, 'this mailbox');
      const request = fresh({ client });
      expect(await open().claim(request, keep, 'this mailbox')).toBeUndefined();
      expect(await rowsOf(request.action_id)).toEqual({ executions: 0, submissions: 0 });
    });

    test('grants the claim if only another mailbox reported the client, or its own mailbox another client', async () => {
      const client = randomUUID();
      await report(client, 'another mailbox');
      for (const request of [fresh({ client }), fresh({ client: randomUUID() })]) {
        const mailbox = request.client === client ? 'this mailbox' : 'another mailbox';
        expect(await open().claim(request, keep, mailbox)).toMatchObject({
          action_id: request.action_id,
        });
        expect(await rowsOf(request.action_id)).toEqual({ executions: 1, submissions });
      }
    });

    test('refuses a second claim of a preview, also after another mailbox reported the client', async () => {
      const request = fresh({ client: randomUUID() });
      expect(await open().claim(request, keep, unreported)).toBeDefined();
      await report(request.client, 'another mailbox');
      const again = fresh({ client: request.client, preview_digest: request.preview_digest });
      expect(await open().claim(again, keep, 'this mailbox')).toBeUndefined();
      expect(await rowsOf(again.action_id)).toEqual({ executions: 0, submissions: 0 });
    });
  });
});
