/**
 * Changes the credentials file under a lock, atomically. A reader sees the old file or the new one, never a part, and
 * no edit overwrites another.
 */
import {
  accessSync,
  chownSync,
  constants,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { systemClock } from '../platform/clock.ts';
import { newId } from '../platform/random.ts';
import { readPlainFile } from '../storage/files.ts';
import { type ClientsFile, parseClients } from './clients.ts';

/** Age from which a lock is stale. An edit takes milliseconds, so the process that made an older lock has died. */
const STALE_LOCK_MS = 10_000;
const LOCK_ATTEMPTS = 100;
const LOCK_RETRY_MS = 20;

const TAKEN_OVER = 'Another command took over the lock, so this command changed nothing. Try again.';

/** A lock is a file with the id of its owner, which distinguishes it from the next lock at the same path. */
type Lock = { path: string; owner: string };

/** The credentials file can't be read or edited. The message is one sentence. */
export class EditFault extends Error {
  override name = 'EditFault';
}

/** Reads the credentials file. Returns no clients if the file does not exist yet. Throws `EditFault`. */
export function readClients(path: string): ClientsFile {
  let text: string;
  try {
    text = readPlainFile(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return { clients: [] };
    throw new EditFault(`The credentials file can’t be read (${codeOf(error)}): ${path}`);
  }
  const parsed = parseClients(text);
  if (parsed.kind === 'valid') return parsed.file;
  throw new EditFault(`The credentials file is not valid (${parsed.why}). Correct it first: ${path}`);
}

/** Returns the clients of the file. Returns none if the file is not set, missing, unreadable or invalid. */
export function clientsIfReadable(path: string | undefined): ClientsFile['clients'] {
  try {
    return path === undefined ? [] : readClients(path).clients;
  } catch {
    return [];
  }
}

/** Returns true if this process can probably replace the file. A full disk, for example, shows only during an edit. */
export function isEditable(path: string): boolean {
  // The permission model forbids fsync, without which a crash could leave an empty file.
  if (process.permission !== undefined) return false;
  const target = followLink(path);
  try {
    accessSync(dirname(target), constants.W_OK);
    const owner = statSync(target).uid;
    return process.getuid === undefined || [0, owner].includes(process.getuid());
  } catch {
    return false;
  }
}

/**
 * Reads the clients and writes the result of `change`. If `change` returns undefined, writes nothing. Calls
 * `beforeReplace` once the new file is complete, and replaces the old one only if that succeeds.
 * @throws EditFault, or the error of `change` or `beforeReplace`
 */
export async function editClients(
  path: string,
  change: (file: ClientsFile) => ClientsFile | undefined,
  beforeReplace: () => Promise<void> = async () => {},
): Promise<void> {
  const target = followLink(path);
  const lock = await orEditFault(target, () => {
    mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
    return acquireLock(target);
  });
  let written: string | undefined;
  try {
    written = await orEditFault(target, () => {
      const changed = change(readClients(target));
      return changed && writeBeside(target, `${JSON.stringify(changed, null, 2)}\n`, lock.owner);
    });
    if (written !== undefined) await beforeReplace();
    const replace = () => written && renameSync(written, target);
    if (!(await orEditFault(target, () => releaseLock(lock, replace)))) throw new EditFault(TAKEN_OVER);
  } catch (error) {
    await orEditFault(target, () => {
      releaseLock(lock);
      if (written !== undefined) rmSync(written, { force: true });
    });
    throw error;
  }
}

/** Runs a step. Throws an error of the file system as `EditFault`, which names the folder. */
async function orEditFault<T>(target: string, step: () => T | Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    if (error instanceof EditFault || codeOf(error) === undefined) throw error;
    throw new EditFault(
      `The credentials file can’t be written (${codeOf(error)}). Check the permissions of ${dirname(target)}.`,
    );
  }
}

/** Takes the lock of a file. If a process died with the lock, also removes its unfinished new file. */
async function acquireLock(target: string): Promise<Lock> {
  const path = `${target}.lock`;
  for (let attempt = 0; attempt < LOCK_ATTEMPTS; attempt += 1) {
    const owner = newId();
    if (createExclusively(path, owner)) return { path, owner };
    const stale = staleLock(path);
    const clean = () => stale && rmSync(besideOf(target, stale.owner), { force: true });
    if (stale === undefined || !releaseLock(stale, clean)) await systemClock.sleep(LOCK_RETRY_MS);
  }
  throw new EditFault(`Another command is changing the credentials. Try again, or remove ${path}.`);
}

/** Returns the lock at the path if it is stale. */
function staleLock(path: string): Lock | undefined {
  // The owner is read before the age. In the reverse order, a new lock could be mistaken for the old one.
  const owner = ownerOf(path);
  return owner !== undefined && isStale(path) ? { path, owner } : undefined;
}

function isStale(path: string): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats !== undefined && systemClock.now().getTime() - stats.mtimeMs > STALE_LOCK_MS;
}

/**
 * Runs a last step, then releases the own lock or a stale lock. Returns false if the lock no longer exists.
 *
 * Only the process that creates the file named after the lock's owner may remove the lock. So if two processes see the
 * same stale lock, the second process can't remove the new lock of the first process. A process that was paused while
 * its lock was replaced does not run its last step. A stale file with that name is from a process that died in its
 * last step.
 */
function releaseLock({ path, owner }: Lock, lastStep = () => {}): boolean {
  const release = `${path}.${owner}`;
  if (isStale(release)) rmSync(release, { force: true });
  if (!createExclusively(release, '')) return false;
  try {
    if (ownerOf(path) !== owner) return false;
    lastStep();
    rmSync(path);
    return true;
  } finally {
    rmSync(release);
  }
}

/** Creates a file with this text and mode 0600. Returns false if the file exists. */
function createExclusively(path: string, text: string): boolean {
  try {
    writeFileSync(path, text, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    // A full disk leaves an empty file, which would lock the next edit out.
    if (codeOf(error) === 'ENOSPC') rmSync(path, { force: true });
    throw error;
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
 * Writes a new file beside the file that it will replace, and returns the path of the new file. The new file has mode
 * 0600 and the owner of the old file, because an edit by root must not take the file from the service.
 */
function writeBeside(path: string, text: string, owner: string): string {
  const temporary = besideOf(path, owner);
  try {
    writeFileSync(temporary, text, { mode: 0o600, flush: true });
    const before = statSync(path, { throwIfNoEntry: false });
    if (before !== undefined && before.uid !== process.getuid?.()) chownSync(temporary, before.uid, before.gid);
    return temporary;
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** Returns the path of the new file that the lock's owner writes. */
function besideOf(target: string, owner: string): string {
  return `${target}.${owner}.tmp`;
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
