/** Personal data in a receipt. Disclosures are deleted with the content, also in races (reference §7.2). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { openLog } from '../../src/platform/log.ts';
import { eraseSubmissionsOf } from '../../src/submissions/erasure.ts';
import { openSubmissionRetention } from '../../src/submissions/retention.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { execute, getReceipt, keysOf, newKey, verifyElsewhere } from '../support/receipts.ts';
import { type Service, startService } from '../support/service.ts';
import { startUpstream } from '../support/upstream.ts';

describe.each(databases)('disclosures of receipts, on %s', (_name, create) => {
  let database: TestDatabase;
  let service: Service;
  let upstream: Awaited<ReturnType<typeof startUpstream>>;
  beforeAll(async () => {
    database = await create();
    upstream = await startUpstream();
    service = await startService({
      environment: {
        DATABASE_URL: database.url,
        RECEIPT_SIGNING_KEYS: newKey(),
        UPSTREAM_URL: upstream.url,
      },
    });
  });
  afterAll(async () => {
    await service.close();
    await upstream.close();
    await database.remove();
  });

  let people = 0;
  const someone = () => {
    people += 1;
    return { name: 'Ada Canary', email: `ada${people}@example.com`, postal_code: '94110' };
  };
  const erase = (email: string) => service.parts.storage.write((tx) => eraseSubmissionsOf(tx, email));
  /** Makes a submission old enough for the retention. */
  const age = (id: string) =>
    service.parts.storage.write((tx) =>
      tx.updateTable('submissions').set({ status_since_ms: 0 }).where('id', '=', id).execute(),
    );
  const retain = () =>
    openSubmissionRetention({
      storage: service.parts.storage,
      clock: systemClock,
      log: openLog('silent'),
      days: 30,
    }).work();
  /** Returns the stored data of an execution and its submission. */
  const kept = async (id: string) => {
    const { storage } = service.parts;
    const submissions = await storage.read((db) => db.selectFrom('submissions').selectAll().where('id', '=', id));
    const executions = await storage.read((db) => db.selectFrom('executions').selectAll().where('action_id', '=', id));
    const [{ disclosures = null, email = null } = {}] = submissions;
    return { disclosures, email, executions };
  };
  const verified = async (id: string) => {
    const { status, body } = await getReceipt(service, id);
    expect(status).toBe(200);
    const { payload, shown } = await verifyElsewhere(body, await keysOf(service), service.url);
    return { body, digests: payload._sd as string[], shown };
  };

  test('an erasure deletes the disclosures, and the receipt remains the same and valid', async () => {
    const fields = someone();
    const id = await execute(service, 'homeowner_quote', fields);
    const before = await verified(id);
    expect(before.shown).toMatchObject(fields);
    await erase(fields.email);
    const after = await verified(id);
    expect(after.body).toEqual({ ...before.body, disclosures: [] });
    expect(after.digests).toHaveLength(3);
    expect((await kept(id)).disclosures).toBeNull();
  });

  test('the end of the content’s retention period deletes the disclosures', async () => {
    const id = await execute(service, 'homeowner_quote', someone());
    const before = await verified(id);
    expect(before.body.disclosures).toHaveLength(3);
    await age(id);
    await retain();
    const after = await verified(id);
    expect(after.body).toEqual({ ...before.body, disclosures: [] });
    expect((await kept(id)).disclosures).toBeNull();
  });

  test('a receipt that is first requested after the deletion has no digests', async () => {
    const fields = someone();
    const erased = await execute(service, 'homeowner_quote', fields);
    await erase(fields.email);
    const ended = await execute(service, 'homeowner_quote', someone());
    await age(ended);
    await retain();
    for (const id of [erased, ended]) {
      const { body, digests } = await verified(id);
      expect([digests, body.disclosures]).toEqual([[], []]);
    }
  });

  test('no stored execution and no signed claim contains an entered value', async () => {
    const id = await execute(service, 'homeowner_quote', someone());
    const { body } = await verified(id);
    const { executions } = await kept(id);
    expect(JSON.stringify(executions)).not.toContain('Canary');
    const [, payload = ''] = body.signed_receipt.split('.');
    expect(Buffer.from(payload, 'base64url').toString()).not.toMatch(/Canary|example\.com|94110/);
  });

  test.each([
    ['an erasure', (_id: string, email: string) => erase(email)],
    ['the end of the retention', () => retain()],
  ])('a first request and %s at the same time leave no disclosure', async (_name, end) => {
    for (let times = 0; times < 15; times += 1) {
      const fields = someone();
      const id = await execute(service, 'homeowner_quote', fields);
      await age(id);
      const [asked] = await Promise.all([getReceipt(service, id), end(id, fields.email), getReceipt(service, id)]);
      expect(asked.status).toBe(200);
      // A sweep skips a row that is being changed. In that case, the content still exists too.
      if ((await kept(id)).disclosures !== null) {
        expect((await kept(id)).email).toBe(fields.email);
        await end(id, fields.email);
      }
      const { body } = await verified(id);
      expect(body.signed_receipt).toBe(asked.body.signed_receipt);
      expect(body.disclosures).toEqual([]);
      expect((await kept(id)).disclosures).toBeNull();
    }
  });

  test('a signed receipt is deleted with its execution', async () => {
    const id = await execute(service, 'homeowner_quote', someone());
    await verified(id);
    await service.parts.storage.write((tx) => tx.deleteFrom('executions').where('action_id', '=', id).execute());
    expect((await getReceipt(service, id)).status).toBe(404);
  });
});
