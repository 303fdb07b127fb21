/**
 * Changes the credentials file under a lock, atomically: a reader sees the old file or the new one,
 * never a piece of either, and two edits at once are two edits.
 */

import {
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
import { newId } from '../chance.ts';
import { systemClock } from '../clock.ts';
import { type ClientsFile, parseClients } from './clients.ts';

/** An edit takes milliseconds: a lock this old was left behind by a process that died. */
const STALE_LOCK_MS = 10_000;
const LOCK_ATTEMPTS = 100;
const LOCK_RETRY_MS = 20;

const TAKEN_OVER = 'Another command took the lock over; nothing was changed here, so try again.';

/** The owner's name is its content: it tells one lock from the next in the same place. */
type Lock = { path: string; owner: string };

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
      const text = changed && `${JSON.stringify(changed, null, 2)}\n`;
      const written = text && writeBeside(target, text, lock.owner);
      if (!endLock(lock, () => written && renameSync(written, target))) {
        if (written) rmSync(written);
        throw new EditFault(TAKEN_OVER);
      }
    } catch (error) {
      endLock(lock);
      throw error;
    }
  } catch (error) {
    if (error instanceof EditFault || codeOf(error) === undefined) throw error;
    throw new EditFault(
      `The credentials file can’t be written (${codeOf(error)}); check the permissions of ${dirname(target)}.`,
    );
  }
}

async function takeLock(path: string): Promise<Lock> {
  for (let attempt = 0; attempt < LOCK_ATTEMPTS; attempt += 1) {
    const owner = newId();
    try {
      writeFileSync(path, owner, { flag: 'wx', mode: 0o600 });
      return { path, owner };
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
      const left = leftBehind(path);
      if (left === undefined || !endLock(left)) await systemClock.sleep(LOCK_RETRY_MS);
    }
  }
  throw new EditFault(`Somebody else is changing the credentials; try again, or remove ${path}.`);
}

/** The lock that stands there, where it is old; undefined where it is not, or is gone meanwhile. */
function leftBehind(path: string): Lock | undefined {
  // First whose it is, then how old: the other way round a new one could be taken for the old one.
  const owner = ownerOf(path);
  const held = statSync(path, { throwIfNoEntry: false });
  if (owner === undefined || held === undefined) return undefined;
  const isOld = systemClock.now().getTime() - held.mtimeMs > STALE_LOCK_MS;
  return isOld ? { path, owner } : undefined;
}

/**
 * Ends a lock, one's own or one that was left behind, after a last step; false where it stands no more.
 * Only who makes the file that is named after its owner may remove it. So of two that saw one old lock
 * the second can't remove what the first put there instead, and whoever was held up while its lock was
 * taken over does not take its last step.
 */
function endLock({ path, owner }: Lock, lastStep = () => {}): boolean {
  const ending = `${path}.${owner}`;
  try {
    closeSync(openSync(ending, 'wx', 0o600));
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
  try {
    if (ownerOf(path) !== owner) return false;
    lastStep();
    rmSync(path);
    return true;
  } finally {
    rmSync(ending);
  }
}

function ownerOf(lock: string): string | undefined {
  try {
    return readFileSync(lock, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Writes a file that only has to be renamed, and returns its path: of mode 0600, and with the owner the
 * other had, for an edit by root must not take the file from the service.
 */
function writeBeside(path: string, text: string, name: string): string {
  const temporary = `${path}.${name}.tmp`;
  try {
    const file = openSync(temporary, 'w', 0o600);
    try {
      writeFileSync(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    const before = statSync(path, { throwIfNoEntry: false });
    if (before !== undefined && before.uid !== process.getuid?.()) {
      chownSync(temporary, before.uid, before.gid);
    }
    return temporary;
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
