/** The doctor's finding about the keys that sign receipts (reference §7.3). */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { receiptKeys } from '../../src/commands/doctor/key-checks.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { execute, getReceipt, keysOf, newKey, publicOf } from '../support/receipts.ts';
import { startService } from '../support/service.ts';
import { examine } from './examine.ts';
import { temporaryFolder } from './run-service.ts';

const finding = async (environment: Record<string, string>) => (await examine(environment, [receiptKeys]))[0];

describe.each(databases)('doctor with receipts on %s that one key signed', (_name, create) => {
  const key = newKey();
  let database: TestDatabase;
  let kid: string | undefined;
  beforeAll(async () => {
    database = await create();
    const service = await startService({
      environment: { DATABASE_URL: database.url, RECEIPT_SIGNING_KEYS: key },
    });
    for (const actionId of [await execute(service), await execute(service)]) {
      await getReceipt(service, actionId);
    }
    kid = (await keysOf(service)).keys[0]?.kid;
    await service.close();
  });
  afterAll(() => database.remove());

  const doctorOf = (keys: string) =>
    finding({
      NODE_ENV: 'production',
      BASE_URL: 'https://paint.example',
      DATA_DIR: join(temporaryFolder(), 'data'),
      DATABASE_URL: database.url,
      RECEIPT_SIGNING_KEYS: keys,
    });

  test('reports ok while the key is published, also if only its public part is configured', async () => {
    expect(await doctorOf(key)).toEqual({ outcome: 'ok', told: `${kid} signs, and 1 key is published.` });
    expect(await doctorOf(newKey() + publicOf(key))).toMatchObject({
      outcome: 'ok',
      told: expect.stringContaining(' signs, and 2 keys are published.'),
    });
  });

  test('warns and names the key if the key is no longer published', async () => {
    for (const keys of [newKey(), '']) {
      expect(await doctorOf(keys)).toMatchObject({
        outcome: 'warning',
        told: expect.stringContaining(
          ` Nobody can verify 2 stored receipts, because the key ${kid} is not at /.well-known/jwks.json. ${keys === '' ? 'Set RECEIPT_SIGNING_KEYS_FILE to a file with a new key: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 ' : ''}Add the PUBLIC KEY block of that key to RECEIPT_SIGNING_KEYS again.`,
        ),
      });
    }
  });
});

test('in local mode, doctor checks the key file and shows none of its content', async () => {
  const DATA_DIR = temporaryFolder();
  expect(await finding({ DATA_DIR })).toEqual({ outcome: 'ok', told: 'The first start creates a key.' });
  const path = join(DATA_DIR, 'receipt-signing-key');
  writeFileSync(path, newKey(), { mode: 0o600 });
  expect(await finding({ DATA_DIR })).toMatchObject({ outcome: 'ok' });
  chmodSync(path, 0o644);
  expect(await finding({ DATA_DIR })).toMatchObject({ outcome: 'warning' });
  writeFileSync(path, 'canary');
  expect(await finding({ DATA_DIR })).toEqual({
    outcome: 'failed',
    told: `The file has no private key of P-256. Remove ${path}, and the next start creates a new key.`,
  });
});
