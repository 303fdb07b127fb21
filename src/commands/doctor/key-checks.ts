/** The doctor's checks of the keys that sign previews and receipts, and of the credentials (reference §13.3). */
import { resolve } from 'node:path';
import { openPreview, sealPreview } from '../../actions/preview-token.ts';
import { parseClients } from '../../credentials/clients.ts';
import { isExpired } from '../../credentials/file.ts';
import { keysThatSigned } from '../../receipts/receipts.ts';
import { routes } from '../../routes.ts';
import { NO_RECEIPT_KEYS, parseReceiptKeys, type ReceiptKeys } from '../../settings/receipt-keys.ts';
import { parseSigningKey, SIGNING_KEY_BYTES, type SigningKeys } from '../../settings/signing-keys.ts';
import { NEW_RECEIPT_KEY } from '../../settings/values.ts';
import { localFiles } from '../../start/first-run.ts';
import { readPlainFile } from '../../storage/files.ts';
import { isDatabaseThere, withStorage } from '../open-store.ts';
import { type Check, type Diagnosis, failed, fileExists, off, ok, warned } from './check.ts';
import { accessWarnings } from './warnings.ts';

export const signingKeys: Check = {
  check: 'signing keys',
  remedy: ({ dataDir }) => `Remove ${localFiles(dataDir).signingKey}, and the next start creates a new key.`,
  run({ settings, clock }) {
    let keys: SigningKeys = settings.previewSigningKeys;
    let warnings: Diagnosis[] = [];
    if (keys.length === 0) {
      if (settings.mode === 'production') {
        const remedy = `Set PREVIEW_SIGNING_KEYS to a new key: openssl rand -base64 ${SIGNING_KEY_BYTES}`;
        return off('Preview and execute answer 503.', remedy);
      }
      const path = localFiles(settings.dataDir).signingKey;
      if (!fileExists(path)) return ok('The first start creates a key.');
      const key = parseSigningKey(readPlainFile(path));
      if (key === undefined) return failed(`The key has fewer than ${SIGNING_KEY_BYTES} bytes.`);
      keys = [key];
      warnings = accessWarnings(path);
    }
    const now = clock.now();
    const token = sealPreview(keys, { action: 'contact', fields: {}, destination: '', createdAt: now.getTime() });
    if (openPreview(keys, token, now).kind !== 'open') throw new Error('KEYS');
    return ok(
      keys.length === 1 ? '1 key.' : `${keys.length} keys. The first key signs, and all keys verify.`,
      warnings,
    );
  },
};

/** Checks that every key that signed a stored receipt is still published (reference §7.3). */
export const receiptKeys: Check = {
  check: 'receipt keys',
  remedy: ({ dataDir }) => `Check the database, and the permissions of ${localFiles(dataDir).receiptKey}.`,
  async run({ settings }) {
    const path = localFiles(settings.dataDir).receiptKey;
    // In local mode without keys in the settings, the service makes a key.
    const isLocal = settings.mode === 'local' && settings.receiptKeys.published.length === 0;
    const keys = isLocal ? readLocalKeys(path) : settings.receiptKeys;
    if (keys === undefined) {
      return failed('The file has no private key of P-256.', `Remove ${path}, and the next start creates a new key.`);
    }
    const { signing, published } = keys;
    const warnings = isDatabaseThere(settings.database)
      ? unpublishedKeys(published, await withStorage(settings, keysThatSigned))
      : [];
    if (isLocal) warnings.push(...accessWarnings(path));
    if (signing !== undefined)
      return ok(
        `${signing.kid} signs, and ${published.length === 1 ? '1 key is' : `${published.length} keys are`} published.`,
        warnings,
      );
    if (isLocal) return ok('The first start creates a key.', warnings);
    const remedy = `Set RECEIPT_SIGNING_KEYS_FILE to a file with a new key: ${NEW_RECEIPT_KEY}`;
    return warned(off('Receipts are not signed.', remedy), warnings);
  },
};

/** Reads the keys of a file. Returns undefined if the file has anything except keys, or no private key. */
function readLocalKeys(path: string): ReceiptKeys | undefined {
  if (!fileExists(path)) return NO_RECEIPT_KEYS;
  const keys = parseReceiptKeys(readPlainFile(path));
  return keys?.signing === undefined ? undefined : keys;
}

/** Returns a warning about signing keys that are no longer published. `signed` has the number of receipts by `kid`. */
function unpublishedKeys(published: ReceiptKeys['published'], signed: ReadonlyMap<string, number>): Diagnosis[] {
  return [...signed]
    .filter(([kid]) => !published.some((key) => key.kid === kid))
    .map(([kid, receipts]) => ({
      says: `Nobody can verify ${receipts === 1 ? '1 stored receipt' : `${receipts} stored receipts`}, because the key ${kid} is not at ${routes.getReceiptKeys.path}.`,
      remedy: 'Add the PUBLIC KEY block of that key to RECEIPT_SIGNING_KEYS again.',
    }));
}

export const credentials: Check = {
  check: 'credentials',
  remedy: 'Check AGENT_CREDENTIALS_FILE, its path and its permissions.',
  run({ settings: { mode, dataDir, credentialsFile }, clock }) {
    if (credentialsFile === undefined) {
      const remedy = 'Set AGENT_CREDENTIALS_FILE, then run: npm run credentials -- issue NAME';
      return off('No credential is valid.', remedy);
    }
    const isLocal = mode === 'local' && resolve(credentialsFile) === localFiles(dataDir).clients;
    if (isLocal && !fileExists(credentialsFile)) return ok('The first start creates a client.');
    const parsed = parseClients(readPlainFile(credentialsFile));
    if (parsed.kind === 'invalid') return failed(`The file is not valid (${parsed.why}).`);
    const { clients } = parsed.file;
    const expired = clients.flatMap(({ name, credentials }) =>
      credentials.filter(({ expires_at }) => isExpired(expires_at, clock.now())).map(({ id }) => `${id} of ${name}`),
    );
    const warnings = accessWarnings(credentialsFile);
    if (expired.length > 0) {
      const remedy = 'Run: npm run credentials -- rotate NAME, or: revoke NAME --credential ID';
      warnings.unshift({ says: `Expired: ${expired.join(', ')}.`, remedy });
    }
    return ok(`${clients.length} ${clients.length === 1 ? 'client' : 'clients'}.`, warnings);
  },
};
