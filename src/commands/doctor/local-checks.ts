/** The doctor's checks of what is on this machine: folder, database, keys and credentials. */

import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { openPreview, sealPreview } from '../../actions/preview-token.ts';
import { newId } from '../../chance.ts';
import type { Clock } from '../../clock.ts';
import { isExpired, parseClients } from '../../credentials/clients.ts';
import type { Settings } from '../../settings/settings.ts';
import {
  parseSigningKey,
  SIGNING_KEY_BYTES,
  type SigningKeys,
} from '../../settings/signing-keys.ts';
import { localFiles } from '../../start/first-run.ts';
import { isDatabaseThere, placeOf, withStorage } from '../storage.ts';
import { accessDangers } from './dangers.ts';
import { type Finding, tryOut, warned } from './finding.ts';
import { checkReceiptKeys } from './receipt-check.ts';

/** Tries everything on this machine, in the order in which a start needs it. */
export async function checkThisMachine(settings: Settings, clock: Clock): Promise<Finding[]> {
  return [
    await checkFolder(settings),
    await checkDatabase(settings, clock),
    await checkSigningKeys(settings, clock),
    await checkReceiptKeys(settings),
    await checkCredentials(settings, clock),
  ];
}

function checkFolder({ mode, database, dataDir }: Settings): Promise<Finding> {
  const remedy = `Change the permissions of ${dataDir}, or set DATA_DIR to a folder of yours.`;
  return tryOut('data folder', remedy, async () => {
    if (mode === 'production' && database.kind === 'postgres') {
      return { outcome: 'off', says: 'Nothing is kept in DATA_DIR.' };
    }
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    tryWriting(dataDir);
    return warned({ outcome: 'ok', says: `${dataDir} can be written.` }, accessDangers(dataDir));
  });
}

function tryWriting(folder: string): void {
  const probe = join(folder, `.doctor-${newId()}`);
  writeFileSync(probe, 'doctor', { mode: 0o600, flush: true });
  rmSync(probe);
}

/** The folder, or the one above it in which it can be made. */
function nearestFolder(folder: string): string {
  return existsSync(folder) ? folder : nearestFolder(dirname(folder));
}

function checkDatabase(settings: Settings, clock: Clock): Promise<Finding> {
  const remedy = 'Check DATABASE_URL, DATA_DIR, and whether the disk is full.';
  return tryOut('database', remedy, async () => {
    const { database } = settings;
    if (!isDatabaseThere(database)) {
      tryWriting(nearestFolder(dirname(placeOf(database))));
      const says = `There is none yet at ${placeOf(database)}: the first start makes it.`;
      return { outcome: 'ok', says };
    }
    const kind = await withStorage(settings, async (storage) => {
      // Written and taken back in one transaction that is committed: nobody ever sees it.
      await storage.write(async (tx) => {
        const event_id = `doctor-${newId()}`;
        const received_at = clock.now().toISOString();
        const row = {
          event_id,
          type: 'doctor',
          form: 'doctor',
          email: '',
          received_at,
          event: '{}',
        };
        await tx.insertInto('inbox').values(row).execute();
        await tx.deleteFrom('inbox').where('event_id', '=', event_id).execute();
      });
      return storage.kind;
    });
    return { outcome: 'ok', says: `${kind} opens and takes a write.` };
  });
}

function checkSigningKeys(settings: Settings, clock: Clock): Promise<Finding> {
  const path = localFiles(settings.dataDir).signingKey;
  return tryOut('signing keys', `Remove ${path}, and a new one is made.`, async () => {
    let keys: SigningKeys = settings.previewSigningKeys;
    if (keys.length === 0) {
      if (settings.mode === 'production') {
        const remedy = `Set PREVIEW_SIGNING_KEYS: openssl rand -base64 ${SIGNING_KEY_BYTES}`;
        return { outcome: 'off', says: 'Preview and execute answer 503.', remedy };
      }
      if (statSync(path, { throwIfNoEntry: false }) === undefined) {
        return { outcome: 'ok', says: 'The first start makes one.' };
      }
      const key = parseSigningKey(readFileSync(path, 'utf8'));
      if (key === undefined) throw new Error('KEY_TOO_SHORT');
      keys = [key];
    }
    const now = clock.now();
    const preview = { fields: {}, destination: '', createdAt: now.getTime() };
    const token = sealPreview(keys, { action: 'contact', ...preview });
    if (openPreview(keys, token, now).kind !== 'open') throw new Error('KEYS');
    const says = `${keys.length} of them; the first signs, all verify.`;
    const isOurs = settings.previewSigningKeys.length === 0;
    return warned({ outcome: 'ok', says }, isOurs ? accessDangers(path) : []);
  });
}

function checkCredentials(settings: Settings, clock: Clock): Promise<Finding> {
  const { mode, dataDir, credentialsFile } = settings;
  const remedy = 'Check AGENT_CREDENTIALS_FILE, its path and its permissions.';
  return tryOut('credentials', remedy, async () => {
    if (credentialsFile === undefined) {
      const hint = 'Set AGENT_CREDENTIALS_FILE, then npm run credentials -- issue <name>.';
      return { outcome: 'off', says: 'No credential is valid.', remedy: hint };
    }
    const isOurs = mode === 'local' && resolve(credentialsFile) === localFiles(dataDir).clients;
    if (isOurs && statSync(credentialsFile, { throwIfNoEntry: false }) === undefined) {
      return { outcome: 'ok', says: 'The first start makes one.' };
    }
    const parsed = parseClients(readFileSync(credentialsFile, 'utf8'));
    if (parsed.kind === 'invalid') {
      return { outcome: 'failed', says: `The file is not valid (${parsed.why}).`, remedy };
    }
    const { clients } = parsed.file;
    const expired = clients.flatMap(({ name, credentials }) =>
      credentials
        .filter(({ expires_at }) => isExpired(expires_at, clock.now()))
        .map(({ id }) => `${id} of ${name}`),
    );
    const says = `${clients.length} ${clients.length === 1 ? 'client' : 'clients'}.`;
    const dangers = accessDangers(credentialsFile);
    if (expired.length > 0) {
      const hint = 'npm run credentials -- rotate <name>, or revoke <name> --credential <id>';
      dangers.unshift({ says: `Expired: ${expired.join(', ')}.`, remedy: hint });
    }
    return warned({ outcome: 'ok', says }, dangers);
  });
}
