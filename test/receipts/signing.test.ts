/** Reads and signatures of receipts on the stored rows, on both databases (reference §7.2). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { keysThatSigned, openReceipts } from '../../src/receipts/receipts.ts';
import { parseReceiptKeys } from '../../src/settings/receipt-keys.ts';
import { type Storage, StorageUnavailable } from '../../src/storage/database.ts';
import { testClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { execute, newKey } from '../support/receipts.ts';
import { type Service, startService } from '../support/service.ts';

describe.each(databases)('openReceipts on %s', (_name, create) => {
  const issuer = 'https://paint.example';
  const clock = testClock('2026-09-01T12:00:05.900Z');
  let database: TestDatabase;
  let service: Service;
  beforeAll(async () => {
    database = await create();
    service = await startService({ environment: { DATABASE_URL: database.url } });
  });
  afterAll(async () => {
    await service.close();
    await database.remove();
  });

  const keys = () => parseReceiptKeys(newKey()) ?? expect.fail('no key');
  const open = (over: Partial<Storage> = {}, by = keys()) =>
    openReceipts({ storage: { ...service.parts.storage, ...over }, clock, keys: by, issuer });
  const update = (id: string, set: { status: 'executing'; settled_at: null } | { receipt_kid: string | null }) =>
    service.parts.storage.write((tx) => tx.updateTable('executions').set(set).where('action_id', '=', id).execute());
  const recordOf = async (receipts: ReturnType<typeof open>, id: string) => {
    const result = await receipts.find('acme', id);
    return result.kind === 'found' ? result.record : expect.fail(result.kind);
  };

  test('has the issuer and the whole second of the signature in the claims, and no mark of a test', async () => {
    const { signed_receipt } = await recordOf(open(), await execute(service));
    const [, claims = ''] = signed_receipt?.split('.') ?? [];
    const said = JSON.parse(Buffer.from(claims, 'base64url').toString());
    expect(said).toMatchObject({ iss: issuer, iat: Date.parse('2026-09-01T12:00:05.000Z') / 1000 });
    expect(said).not.toHaveProperty('sandbox');
  });

  test('signs nothing while the disk is full, and returns a receipt that is signed already', async () => {
    const id = await execute(service);
    const full = open({
      requireDiskSpace: () => {
        throw new StorageUnavailable('full');
      },
    });
    await expect(full.find('acme', id)).rejects.toThrow(StorageUnavailable);
    const signed = await recordOf(open(), id);
    expect(signed.disclosures).toHaveLength(3);
    expect(await recordOf(full, id)).toEqual(signed);
  });

  test('returns unknownReceipt if the execution is deleted during its signature', async () => {
    const id = await execute(service);
    const { storage } = service.parts;
    const write: Storage['write'] = async (run) => {
      const result = await storage.write(run);
      await storage.write((tx) => tx.deleteFrom('executions').where('action_id', '=', id).execute());
      return result;
    };
    expect(await open({ write }).find('acme', id)).toEqual({ kind: 'unknownReceipt' });
  });

  test('returns inProgress before the end of the execution, and unknownReceipt for anything that is no id', async () => {
    const id = await execute(service);
    await update(id, { status: 'executing', settled_at: null });
    expect(await open().find('acme', id)).toEqual({ kind: 'inProgress' });
    for (const other of [undefined, null, 1, {}, [id], '', 'x', '\0', id.toUpperCase()]) {
      expect(await open().find('acme', other)).toEqual({ kind: 'unknownReceipt' });
    }
  });

  test('returns no disclosure of content without an address, even if the row still has disclosures', async () => {
    const id = await execute(service);
    const signed = await recordOf(open(), id);
    await service.parts.storage.write((tx) =>
      tx.updateTable('submissions').set({ email: null }).where('id', '=', id).execute(),
    );
    expect(await recordOf(open(), id)).toEqual({ ...signed, disclosures: [] });
  });

  test('counts the receipts by the key that signed them, and leaves out unsigned receipts', async () => {
    const [first, second] = [keys(), keys()];
    for (const by of [first, second, second]) await recordOf(open({}, by), await execute(service));
    await execute(service);
    const counts = await keysThatSigned(service.parts.storage);
    expect([counts.get(first.signing?.kid ?? ''), counts.get(second.signing?.kid ?? '')]).toEqual([1, 2]);
    expect([...counts.keys()]).not.toContain('null');
  });
});
