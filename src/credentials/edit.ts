/**
 * Changes the credentials file under a lock, atomically: a reader sees the old file or the new one,
 * never a piece of either, and two edits at once are two edits.
 */

import {
  chmodSync,
  chownSync,
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { systemClock } from '../clock.ts';
import { type ClientsFile, parseClients } from './clients.ts';

/** An edit takes milliseconds: a lock this old was left behind by a process that died. */
const STALE_LOCK_MS = 10_000;
const LOCK_ATTEMPTS = 100;
const LOCK_RETRY_MS = 20;

/** The file can't be edited: its message is one sentence with the remedy. */
class EditFault extends Error {
  override name = 'EditFault';
}

/** No clients where the file does not exist yet. Throws `EditFault`. */
export function readClients(path: string): ClientsFile {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return { clients: [] };
    throw new EditFault(`The credentials file can’t be read (${codeOf(error)}): ${path}`);
  }
  const parsed = parseClients(text);
  if (parsed.kind === 'valid') return parsed.file;
  throw new EditFault(`The credentials file is not valid (${parsed.why}); mend it first: ${path}`);
}

/** Reads the clients, hands them to `change` and writes what it returns; undefined writes nothing. */
export async function editClients(
  path: string,
  change: (file: ClientsFile) => ClientsFile | undefined,
): Promise<void> {
  const target = followLink(path);
  try {
    mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
    const lock = await takeLock(`${target}.lock`);
    try {
      const changed = change(readClients(target));
      if (changed !== undefined) writeAtomically(target, `${JSON.stringify(changed, null, 2)}\n`);
    } finally {
      rmSync(lock, { force: true });
    }
  } catch (error) {
    if (error instanceof EditFault || codeOf(error) === undefined) throw error;
    throw new EditFault(
      `The credentials file can’t be written (${codeOf(error)}); check the permissions of ${dirname(target)}.`,
    );
  }
}

async function takeLock(lock: string): Promise<string> {
  for (let attempt = 0; attempt < LOCK_ATTEMPTS; attempt += 1) {
    try {
      closeSync(openSync(lock, 'wx', 0o600));
      return lock;
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
      const held = statSync(lock, { throwIfNoEntry: false });
      if (held !== undefined && systemClock.now().getTime() - held.mtimeMs > STALE_LOCK_MS) {
        rmSync(lock, { force: true });
      } else {
        await systemClock.sleep(LOCK_RETRY_MS);
      }
    }
  }
  throw new EditFault(`Somebody else is changing the credentials; try again, or remove ${lock}.`);
}

/** Mode 0600, and the owner it had: an edit by root must not take the file from the service. */
function writeAtomically(path: string, text: string): void {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    const file = openSync(temporary, 'w', 0o600);
    try {
      writeFileSync(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    chmodSync(temporary, 0o600);
    const before = statSync(path, { throwIfNoEntry: false });
    if (before !== undefined && before.uid !== process.getuid?.()) {
      chownSync(temporary, before.uid, before.gid);
    }
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

function followLink(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
