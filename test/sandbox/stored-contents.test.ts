/** Erasure and retention of what sandbox clients sent, on both databases (reference §27.6). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openMailboxes } from '../../src/confirmations/mailbox.ts';
import { erasePerson } from '../../src/confirmations/person.ts';
import { randomSecret } from '../../src/platform/random.ts';
import { openSandboxRetention } from '../../src/sandbox/retention.ts';
import { openSandbox } from '../../src/sandbox/sandbox.ts';
import { askToConfirm, lookAt } from '../confirmations/rig.ts';
import { executeAction, previewAction, quote } from '../support/agent.ts';
import { steppedClock, type TestClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { getReceipt, newKey } from '../support/receipts.ts';
import { type Service, startService, tokens } from '../support/service.ts';
import { until } from '../support/until.ts';

const token = tokens.sandbox;

describe.each(databases)('contents of sandbox clients on %s', (_name, create) => {
  let database: TestDatabase;
  let service: Service;
  let clock: TestClock;
  beforeAll(async () => {
    database = await create();
    clock = steppedClock();
    service = await startService({
      clock,
      environment: { DATABASE_URL: database.url, RECEIPT_SIGNING_KEYS: newKey() },
    });
  });
  afterAll(async () => {
    await service.close();
    await database.remove();
  });

  const previewOf = async (email: string): Promise<string> =>
    (await previewAction(service, 'homeowner_quote', { ...quote, email }, { token })).body.preview_id;
  const execute = async (email: string) => {
    const { body } = await executeAction(service, await previewOf(email), { token });
    return body.receipt.action_id as string;
  };
  const contentOf = (id: string) =>
    service.parts.storage.read((db) => db.selectFrom('sandbox_contents').select('email').where('id', '=', id));
  const statusOf = async (id: string) =>
    (
      await service.parts.storage.read((db) => db.selectFrom('executions').select('status').where('action_id', '=', id))
    )[0]?.status;
  const disclosuresOf = async (id: string) => (await getReceipt(service, id, token)).body.disclosures;

  test('an erasure deletes the content and the disclosures of that person, and ends their confirmation', async () => {
    const [ada, eve] = [await execute('ada.test@example.com'), await execute('eve@example.com')];
    expect(await disclosuresOf(ada)).not.toEqual([]);
    const asked = await askToConfirm(service, await previewOf('ada.test@example.com'), { token });
    const { storage } = service.parts;
    const erased = await storage.write((tx) => erasePerson(tx, 'ada.test@example.com', clock.now()));
    expect(erased).toMatchObject({ leads: 0, confirmations: 1 });
    expect([await contentOf(ada), await contentOf(eve)]).toEqual([[], [{ email: 'eve@example.com' }]]);
    expect([await disclosuresOf(ada), (await disclosuresOf(eve)).length]).toEqual([[], 3]);
    const { body } = await lookAt(service, asked.body.confirmation.id, { token });
    expect(body.confirmation.status).toBe('expired');
    const rows = await Promise.all([
      storage.read((db) => db.selectFrom('executions').selectAll()),
      storage.read((db) => db.selectFrom('confirmations').selectAll()),
      storage.read((db) => db.selectFrom('sandbox_contents').selectAll()),
    ]);
    expect(JSON.stringify(rows)).not.toContain('ada.test');
  });

  test('a mailbox has another digest for sandbox clients, so that tests do not use up its limits', async () => {
    const { storage } = service.parts;
    const metrics = { countExecution: () => {}, countConfirmation: () => {} };
    const sandbox = openSandbox({ storage, clock, randomSecret, metrics });
    const real = openMailboxes({ storage, randomSecret });
    const digest = await real.digestOf('ada@example.com');
    expect(await real.digestOf('ADA@example.com')).toBe(digest);
    expect(await sandbox.mailboxes.digestOf('ada@example.com')).not.toBe(digest);
  });

  test('an execution whose process died ends as failed, and the sweep deletes it with its content', async () => {
    const id = await execute('ada@example.com');
    const { storage } = service.parts;
    await storage.write((tx) =>
      tx
        .updateTable('executions')
        .set({ status: 'executing', settled_at: null, lease_started_ms: 0 })
        .where('action_id', '=', id)
        .execute(),
    );
    await until(async () => {
      clock.advance(1_000);
      return (await statusOf(id)) === 'failed';
    });
    clock.advance(24 * 3_600_000);
    await openSandboxRetention({ ...service.parts, clock }).work();
    expect([await statusOf(id), await contentOf(id)]).toEqual([undefined, []]);
  });
});
