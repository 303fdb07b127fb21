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

const production = { NODE_ENV: 'production', BASE_URL: 'https://paint.example' };

describe.each(databases)('doctor with receipts on %s that two keys signed', (_name, create) => {
  const [first, second] = [newKey(), newKey()];
  let database: TestDatabase;
  const kids: string[] = [];
  beforeAll(async () => {
    database = await create();
    for (const [key, receipts] of [
      [first, 2],
      [second, 1],
    ] as const) {
      const service = await startService({ environment: { DATABASE_URL: database.url, RECEIPT_SIGNING_KEYS: key } });
      for (let receipt = 0; receipt < receipts; receipt += 1) await getReceipt(service, await execute(service));
      kids.push((await keysOf(service)).keys[0]?.kid ?? expect.fail());
      await service.close();
    }
  });
  afterAll(() => database.remove());

  const doctorOf = async (RECEIPT_SIGNING_KEYS: string) => {
    const found = await finding({ ...production, DATABASE_URL: database.url, RECEIPT_SIGNING_KEYS });
    return { outcome: found?.outcome, told: found?.told.replace(/[\w-]{43}(?= signs)/, 'KEY') };
  };

  test('reports ok while both keys are published, also if only their public parts are configured', async () => {
    expect(await doctorOf(first + second)).toEqual({ outcome: 'ok', told: 'KEY signs, and 2 keys are published.' });
    expect(await doctorOf(newKey() + publicOf(first) + publicOf(second))).toEqual({
      outcome: 'ok',
      told: 'KEY signs, and 3 keys are published.',
    });
  });

  const lost = (receipts: string, at: 0 | 1) =>
    `Nobody can verify ${receipts}, because the key ${kids[at]} is not at /.well-known/jwks.json.`;
  const ADD = 'Add the PUBLIC KEY block of that key to RECEIPT_SIGNING_KEYS again.';

  test('warns and names the key if one is no longer published', async () => {
    expect(await doctorOf(first)).toEqual({
      outcome: 'warning',
      told: `KEY signs, and 1 key is published. ${lost('1 stored receipt', 1)} ${ADD}`,
    });
    expect(await doctorOf(second)).toEqual({
      outcome: 'warning',
      told: `KEY signs, and 1 key is published. ${lost('2 stored receipts', 0)} ${ADD}`,
    });
  });

  test('warns of each key if no key is set', async () => {
    const { outcome, told } = await doctorOf('');
    expect(outcome).toBe('warning');
    for (const words of [lost('2 stored receipts', 0), lost('1 stored receipt', 1), `P-256 ${ADD} ${ADD}`]) {
      expect(told).toContain(words);
    }
  });
});

test('in local mode, doctor checks the key file and shows none of its content', async () => {
  const DATA_DIR = temporaryFolder();
  expect(await finding({ DATA_DIR })).toEqual({ outcome: 'ok', told: 'The first start creates a key.' });
  const path = join(DATA_DIR, 'receipt-signing-key');
  const key = newKey();
  writeFileSync(path, key, { mode: 0o600 });
  expect(await finding({ DATA_DIR })).toMatchObject({ outcome: 'ok' });
  chmodSync(path, 0o644);
  expect(await finding({ DATA_DIR })).toMatchObject({ outcome: 'warning' });
  for (const content of ['canary', publicOf(key)]) {
    writeFileSync(path, content);
    expect(await finding({ DATA_DIR })).toEqual({
      outcome: 'failed',
      told: `The file has no private key of P-256. Remove ${path}, and the next start creates a new key.`,
    });
  }
});

test.each([{}, production])('doctor ignores the key file of local mode with a key in the settings %j', async (mode) => {
  const DATA_DIR = temporaryFolder();
  writeFileSync(join(DATA_DIR, 'receipt-signing-key'), 'canary', { mode: 0o666 });
  expect(await finding({ ...mode, DATA_DIR, RECEIPT_SIGNING_KEYS: newKey() })).toEqual({
    outcome: 'ok',
    told: expect.stringMatching(/^[\w-]{43} signs, and 1 key is published\.$/),
  });
});
