/**
 * Makes the files of local mode once: the keys that sign previews and receipts, and one agent credential with its token
 * (reference §20.1). Only the owner can read these files. A file appears whole or not at all.
 */
import { chmodSync, existsSync, linkSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { issue } from '../credentials/changes.ts';
import { SCOPES } from '../credentials/clients.ts';
import { digestOfToken } from '../credentials/file.ts';
import { generateToken, isIssuedToken } from '../credentials/tokens.ts';
import type { Clock } from '../platform/clock.ts';
import { newPrivateKey } from '../platform/random.ts';
import { parseReceiptKeys, type ReceiptKeys } from '../settings/receipt-keys.ts';
import type { Settings } from '../settings/settings.ts';
import { newSigningKey, parseSigningKey } from '../settings/signing-keys.ts';
import { makeFolder, NoFile, readPlainFile } from '../storage/files.ts';

export type Prepared = {
  previewSigningKeys: Buffer[];
  receiptKeys: ReceiptKeys;
  /** Path of the file with the token of the local agent, or undefined if there is no such file. */
  tokenFile: string | undefined;
  /** True if this start made a key or a credential. */
  firstRun: boolean;
};

/** Thrown if the start can't continue. The message is one sentence with the remedy. */
export class StartFault extends Error {
  override name = 'StartFault';
}

/** Name of the client that local mode makes. */
const LOCAL_AGENT = 'local-agent';

/** Returns the paths of the files that local mode makes. */
export function localFiles(dataDir: string) {
  return {
    signingKey: join(dataDir, 'preview-signing-key'),
    receiptKey: join(dataDir, 'receipt-signing-key'),
    clients: join(dataDir, 'agents.json'),
    token: join(dataDir, 'agent-token'),
  };
}

/** Makes the missing files of local mode. Makes no files in production. Throws `StartFault`. */
export async function prepareLocalMode(settings: Settings, clock: Clock): Promise<Prepared> {
  const { previewSigningKeys, receiptKeys, dataDir } = settings;
  if (settings.mode === 'production') {
    return { previewSigningKeys, receiptKeys, tokenFile: undefined, firstRun: false };
  }
  try {
    makeFolder(dataDir);
    const files = localFiles(dataDir);
    const madeClient = makeLocalAgent(settings, clock);
    const key = previewSigningKeys.length === 0 ? localSigningKey(files.signingKey) : undefined;
    return {
      previewSigningKeys: key === undefined ? previewSigningKeys : [key.bytes],
      receiptKeys: receiptKeys.published.length === 0 ? localReceiptKey(files.receiptKey) : receiptKeys,
      tokenFile: existsSync(files.token) ? files.token : undefined,
      firstRun: madeClient || key?.made === true,
    };
  } catch (error) {
    if (error instanceof StartFault) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    throw new StartFault(
      `The folder ${dataDir} can’t be written (${code}), so change its permissions, or set DATA_DIR to a folder that you own.`,
    );
  }
}

/** Returns the key that signs previews. A restart uses the same key, so earlier previews stay valid. */
function localSigningKey(path: string): { bytes: Buffer; made: boolean } {
  const made = createExclusively(path, newSigningKey);
  const bytes = parseSigningKey(readOwn(path));
  if (bytes !== undefined) return { bytes, made };
  throw new StartFault(`The key in ${path} is too short, so remove that file, and the next start creates a new key.`);
}

/** Returns the key that signs receipts. A restart uses the same key, so earlier receipts can be verified. */
function localReceiptKey(path: string): ReceiptKeys {
  createExclusively(path, newPrivateKey);
  const keys = parseReceiptKeys(readOwn(path));
  if (keys?.signing !== undefined) return keys;
  throw new StartFault(
    `There is no private key of P-256 in ${path}, so remove that file, and the next start creates a new key.`,
  );
}

/**
 * Makes the credentials file only at the default path, and only if the file is missing. The operator's own file stays
 * as it is.
 */
function makeLocalAgent({ dataDir, credentialsFile }: Settings, clock: Clock): boolean {
  const { clients: path, token: tokenFile } = localFiles(dataDir);
  if (credentialsFile === undefined || resolve(credentialsFile) !== path || existsSync(path)) return false;
  // The token's file is made first. If this process dies before the second file, the next start uses the token.
  createExclusively(tokenFile, () => `${generateToken()}\n`);
  const token = readOwn(tokenFile).trim();
  if (!isIssuedToken(token))
    throw new StartFault(
      `There is no token in ${tokenFile}, so remove that file, and the next start creates a new token.`,
    );
  const credential = { sha256: digestOfToken(token), createdAt: clock.now(), expiresAt: null };
  const change = issue({ clients: [] }, { name: LOCAL_AGENT, scopes: [...SCOPES] }, credential);
  return change.kind === 'changed' && createExclusively(path, () => `${JSON.stringify(change.file, null, 2)}\n`);
}

function readOwn(path: string): string {
  try {
    return readPlainFile(path);
  } catch (error) {
    if (!(error instanceof NoFile)) throw error;
    throw new StartFault(`${path} is ${error.code}, not a file, so remove it, and the next start creates a new file.`);
  }
}

/** Makes a file with mode 0600, under any umask. If the file exists, returns false and leaves the file as it is. */
function createExclusively(path: string, makeText: () => string): boolean {
  if (existsSync(path)) return false;
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    writeFileSync(temporary, makeText(), { mode: 0o600, flush: true });
    chmodSync(temporary, 0o600);
    try {
      linkSync(temporary, path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      // On a file system without links, a race of two first starts is unlikely enough.
      renameSync(temporary, path);
    }
    return true;
  } finally {
    rmSync(temporary, { force: true });
  }
}
