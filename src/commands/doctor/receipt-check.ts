/** The doctor's check of the keys that sign receipts: whatever signed a kept one is still published (beyond §5). */
import { readFileSync, statSync } from 'node:fs';
import { keysThatSigned } from '../../receipts/signers.ts';
import { routes } from '../../routes.ts';
import { parseReceiptKeys, type ReceiptKeys } from '../../settings/receipt-keys.ts';
import type { Settings } from '../../settings/settings.ts';
import { NEW_RECEIPT_KEY } from '../../settings/values.ts';
import { localFiles } from '../../start/first-run.ts';
import { isDatabaseThere, withStorage } from '../storage.ts';
import { accessDangers } from './dangers.ts';
import { type Danger, type Finding, tryOut, warned } from './finding.ts';

/** Takes the settings; looks at the keys, and at every receipt that is kept. */
export function checkReceiptKeys(settings: Settings): Promise<Finding> {
  const path = localFiles(settings.dataDir).receiptKey;
  const isOurs = settings.mode === 'local' && settings.receiptKeys.published.length === 0;
  const remedy = isOurs
    ? `Check the database; without a private key of P-256 in ${path}, remove that file.`
    : 'Check the database.';
  return tryOut('receipt keys', remedy, async () => {
    const keys = isOurs ? readLocalKeys(path) : settings.receiptKeys;
    const signed = isDatabaseThere(settings.database)
      ? await withStorage(settings, keysThatSigned)
      : new Map<string, number>();
    const dangers = [...unpublishedDangers(keys, signed), ...(isOurs ? accessDangers(path) : [])];
    return warned(describeKeys(keys, isOurs), dangers);
  });
}

function describeKeys(keys: ReceiptKeys, isOurs: boolean): Omit<Finding, 'check'> {
  if (keys.signing !== undefined) {
    const says = `${keys.signing.kid} signs; ${keys.published.length} published.`;
    return { outcome: 'ok', says };
  }
  if (isOurs) return { outcome: 'ok', says: 'The first start makes one.' };
  const remedy = `Set RECEIPT_SIGNING_KEYS_FILE to a file of yours: ${NEW_RECEIPT_KEY}`;
  return { outcome: 'off', says: 'Receipts are not signed.', remedy };
}

function unpublishedDangers(keys: ReceiptKeys, signed: ReadonlyMap<string, number>): Danger[] {
  const published = new Set(keys.published.map(({ kid }) => kid));
  return [...signed]
    .filter(([kid]) => !published.has(kid))
    .map(([kid, receipts]) => ({
      says: `${kid} signed ${receipts} ${receipts === 1 ? 'receipt that is' : 'receipts that are'} kept, and is not at ${routes.getReceiptKeys.path}: nobody can verify ${receipts === 1 ? 'it' : 'them'}.`,
      remedy: 'Put the PUBLIC KEY block of that key back into RECEIPT_SIGNING_KEYS.',
    }));
}

/** Throws where the file holds something else. */
function readLocalKeys(path: string): ReceiptKeys {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) {
    return { signing: undefined, published: [] };
  }
  const keys = parseReceiptKeys(readFileSync(path, 'utf8'));
  if (keys?.signing === undefined) throw new Error('NO_PRIVATE_KEY');
  return keys;
}
