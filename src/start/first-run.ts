/**
 * What local mode makes once in its folder: the keys that sign previews and receipts, and one agent credential
 * with its token (contract §2, beyond §5). Every file is for the owner alone, and appears whole or not at all.
 */

import {
  chmodSync,
  existsSync,
  linkSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { newPrivateKey } from '../chance.ts';
import type { Clock } from '../clock.ts';
import { issue } from '../credentials/changes.ts';
import { SCOPES } from '../credentials/scopes.ts';
import { digestOfToken, generateToken, isIssuedToken } from '../credentials/tokens.ts';
import { parseReceiptKeys, type ReceiptKeys } from '../settings/receipt-keys.ts';
import type { Settings } from '../settings/settings.ts';
import { newSigningKey, parseSigningKey } from '../settings/signing-keys.ts';
import { makeFolder } from '../storage/folder.ts';

export type Prepared = {
  previewSigningKeys: Buffer[];
  receiptKeys: ReceiptKeys;
  /** Where the token of the local agent stands; undefined where there is none. */
  tokenFile: string | undefined;
  /** Something was made now that was not there before. */
  firstRun: boolean;
};

/** The start can't go on; the message is one sentence with the remedy. */
export class StartFault extends Error {
  override name = 'StartFault';
}

/** The name of the client that local mode makes. */
const LOCAL_AGENT = 'local-agent';

/** Where local mode keeps what it makes. */
export function localFiles(dataDir: string) {
  return {
    signingKey: join(dataDir, 'preview-signing-key'),
    receiptKey: join(dataDir, 'receipt-signing-key'),
    clients: join(dataDir, 'agents.json'),
    token: join(dataDir, 'agent-token'),
  };
}

/** Makes what is missing in local mode, and nothing in production. Throws `StartFault`. */
export async function prepareLocalMode(settings: Settings, clock: Clock): Promise<Prepared> {
  const { previewSigningKeys, receiptKeys, dataDir } = settings;
  if (settings.mode === 'production') {
    return { previewSigningKeys, receiptKeys, tokenFile: undefined, firstRun: false };
  }
  try {
    makeFolder(dataDir);
    const madeClient = makeLocalAgent(settings, clock);
    const key = previewSigningKeys.length === 0 ? localSigningKey(dataDir) : undefined;
    const tokenFile = localFiles(dataDir).token;
    return {
      previewSigningKeys: key === undefined ? previewSigningKeys : [key.bytes],
      receiptKeys: receiptKeys.published.length === 0 ? localReceiptKey(dataDir) : receiptKeys,
      tokenFile: existsSync(tokenFile) ? tokenFile : undefined,
      firstRun: madeClient || key?.made === true,
    };
  } catch (error) {
    if (error instanceof StartFault) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    throw new StartFault(
      `The folder ${dataDir} can’t be written (${code}): change its permissions, or set DATA_DIR to a folder of yours.`,
    );
  }
}

/** The key that this folder has always had: a restart keeps the previews that are under way. */
function localSigningKey(dataDir: string): { bytes: Buffer; made: boolean } {
  const path = localFiles(dataDir).signingKey;
  const made = createExclusively(path, newSigningKey);
  const bytes = parseSigningKey(readFileSync(path, 'utf8'));
  if (bytes !== undefined) return { bytes, made };
  throw new StartFault(`The key in ${path} is too short: remove that file, and a new one is made.`);
}

/** The key that this folder has always had: what it signed is verified with it. */
function localReceiptKey(dataDir: string): ReceiptKeys {
  const path = localFiles(dataDir).receiptKey;
  createExclusively(path, newPrivateKey);
  const keys = parseReceiptKeys(readFileSync(path, 'utf8'));
  if (keys?.signing !== undefined) return keys;
  throw new StartFault(
    `There is no private key of P-256 in ${path}: remove that file, and a new one is made.`,
  );
}

/** Only in the default place and where no file is: an operator's own file is left alone. */
function makeLocalAgent({ dataDir, credentialsFile }: Settings, clock: Clock): boolean {
  const { clients: path, token: tokenFile } = localFiles(dataDir);
  if (credentialsFile === undefined || resolve(credentialsFile) !== path) return false;
  if (existsSync(path)) return false;
  // The token first: whatever ends this process in between, the next start finds one and uses it.
  createExclusively(tokenFile, () => `${generateToken()}\n`);
  const token = readFileSync(tokenFile, 'utf8').trim();
  if (!isIssuedToken(token)) {
    throw new StartFault(`There is no token in ${tokenFile}: remove that file, and one is made.`);
  }
  const credential = { sha256: digestOfToken(token), createdAt: clock.now(), expiresAt: null };
  const change = issue({ clients: [] }, LOCAL_AGENT, [...SCOPES], credential);
  return (
    change.kind === 'changed' &&
    createExclusively(path, () => `${JSON.stringify(change.file, null, 2)}\n`)
  );
}

/** Whether the file was made; one that is there already stays as it is. Mode 0600 under any umask. */
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
      // A file system without links: two first starts at once are not to be feared there.
      renameSync(temporary, path);
    }
    return true;
  } finally {
    rmSync(temporary, { force: true });
  }
}
