/** Runs the unchanged program of `content/receipts.md`, which verifies receipts, on ours. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { execute, getReceipt, keysOf, newKey } from '../support/receipts.ts';
import { type Service, startService } from '../support/service.ts';

const page = readFileSync(new URL('../../content/receipts.md', import.meta.url), 'utf8');
const [, program = ''] = /```python\n([\s\S]*?)```/.exec(page) ?? [];

const hasLibrary = spawnSync('python3', ['-c', 'import cryptography'], { stdio: 'ignore' }).status === 0;
if (!hasLibrary && process.env.TEST_SERVICES === 'required') {
  throw new Error('python3 has no cryptography, and TEST_SERVICES=required wants it.');
}

describe.skipIf(!hasLibrary)('/receipts, Python program', () => {
  let service: Service;
  let folder: string;
  // biome-ignore lint/suspicious/noExplicitAny: as it is answered
  let body: any;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'receipt-'));
    service = await startService({ environment: { RECEIPT_SIGNING_KEYS: newKey() } });
    body = (await getReceipt(service, await execute(service))).body;
    writeFileSync(join(folder, 'verify.py'), program);
    writeFileSync(join(folder, 'jwks.json'), JSON.stringify(await keysOf(service)));
  });
  afterAll(() => service.close());

  const verify = (receipt: object, issuer = service.url) => {
    writeFileSync(join(folder, 'receipt.json'), JSON.stringify(receipt));
    const { status, stdout } = spawnSync('python3', ['verify.py', 'receipt.json', 'jwks.json', issuer], {
      cwd: folder,
      encoding: 'utf8',
    });
    return { status, shown: stdout === '' ? undefined : JSON.parse(stdout) };
  };

  test('has at most 24 lines', () => {
    expect(program.trimEnd().split('\n').length).toBeLessThanOrEqual(24);
  });

  test('verifies a receipt and prints its claims and fields', () => {
    expect(verify(body)).toMatchObject({
      status: 0,
      shown: { jti: body.receipt.action_id, client: 'acme', name: 'Ada Lovelace' },
    });
    expect(verify({ ...body, disclosures: [] })).toMatchObject({
      status: 0,
      shown: { status: 'submitted', _sd: expect.any(Array) },
    });
  });

  test('refuses a changed receipt, another issuer and an unsigned disclosure', () => {
    const { signed_receipt: signed, disclosures } = body;
    const [head, payload] = signed.split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
    const other = Buffer.from(JSON.stringify({ ...claims, client: 'evil' })).toString('base64url');
    const none = Buffer.from('{"alg":"none","kid":"","typ":"JWT"}').toString('base64url');
    for (const changed of [
      { ...body, signed_receipt: signed.replace(payload, other) },
      { ...body, signed_receipt: signed.replace(head, none) },
      { ...body, signed_receipt: signed + disclosures[0] },
      { ...body, disclosures: [...disclosures, disclosures[0]] },
      { ...body, disclosures: ['WyJzYWx0IiwibmFtZSIsIkV2ZSJd'] },
    ]) {
      expect(verify(changed).status).toBe(1);
    }
    expect(verify(body, 'https://evil.example').status).toBe(1);
  });
});
