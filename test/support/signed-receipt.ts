/** Creates a receipt with any field names, signed by an issuer of the test. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CONFIRMATION_STATEMENT } from '../../src/actions/preview.ts';
import { claimsOf } from '../../src/receipts/receipts.ts';
import { digestOf, disclosureOf, SEPARATOR, signClaims } from '../../src/receipts/sd-jwt.ts';
import { parseReceiptKeys } from '../../src/settings/receipt-keys.ts';
import type { ExecutionRow } from '../../src/storage/schema.ts';
import { newKey } from './receipts.ts';

/** Row of an execution whose receipt a test signs. */
export const signedRow = {
  action_id: '0191ab6f-2d40-7c11-8f37-2a6a4f1f9c11',
  action: 'contact',
  client: 'acme',
  preview_digest: '0'.repeat(64),
  status: 'submitted',
  created_at: '2026-09-01T12:00:00.000Z',
  confirmation_text: CONFIRMATION_STATEMENT,
  confirmed_via: 'agent',
  destination: 'Vetted Painters',
} as ExecutionRow;

/**
 * Writes `receipt.json` of https://paint.example with these fields, its `jwks.json`, and `unsigned.json`, which has a
 * member with the name of the first field.
 */
export function signedReceiptFile(folder: string, fields: Record<string, string>): void {
  const keys = parseReceiptKeys(newKey());
  if (keys?.signing === undefined) throw new Error('No key could be made.');
  const disclosures = Object.entries(fields).map(([name, value]) => disclosureOf(Buffer.alloc(16), name, value));
  const claims = claimsOf(signedRow, {
    issuer: 'https://paint.example',
    signedAt: new Date(1e12),
    digests: disclosures.map(digestOf),
  });
  const textOf = (jwt: string) => jwt + disclosures.map((each) => each + SEPARATOR).join('');
  const [kid = ''] = Object.keys(fields);
  const unsigned = signClaims({ ...keys.signing, kid }, claims);
  writeFileSync(join(folder, 'receipt.json'), textOf(signClaims(keys.signing, claims)));
  writeFileSync(join(folder, 'unsigned.json'), textOf(unsigned));
  writeFileSync(join(folder, 'jwks.json'), JSON.stringify({ keys: keys.published }));
}
