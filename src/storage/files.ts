/** Reads files and makes folders. Refuses pipes and devices, because a read of a pipe waits for its writer. */
import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Error for a path that leads to something else than a file. `code` names the kind of thing, such as `a folder`. */
export class NoFile extends Error {
  override name = 'NoFile';
  readonly code: string;
  constructor(kind: string) {
    super(`It is ${kind}, not a file.`);
    this.code = kind;
  }
}

/**
 * Returns the kind of thing at the end of a path, or undefined for a file. Follows links.
 * @throws the error of the file system
 */
export function otherThanFile(path: string): string | undefined {
  const stats = statSync(path);
  if (stats.isFile()) return undefined;
  if (stats.isDirectory()) return 'a folder';
  return stats.isFIFO() ? 'a named pipe' : 'a device or a socket';
}

function requireFile(path: string): void {
  const kind = otherThanFile(path);
  if (kind !== undefined) throw new NoFile(kind);
}

/**
 * Reads a file as UTF-8.
 * @throws NoFile, or the error of the file system
 */
export function readPlainFile(path: string): string {
  requireFile(path);
  return readFileSync(path, 'utf8');
}

/** Reads a file as UTF-8 without blocking. Refuses a pipe, because its read would occupy a thread of the process. */
export async function readPlainFileLater(path: string): Promise<string> {
  requireFile(path);
  return await readFile(path, 'utf8');
}

/**
 * Makes a folder and its missing parents, only for the owner. Node's own `recursive` never returns if a folder can't be
 * made although its parent exists, as below /proc.
 */
export function makeFolder(path: string): void {
  try {
    makeOne(path);
  } catch (error) {
    // `/` and `.` exist, so the recursion ends.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    makeFolder(dirname(path));
    makeOne(path);
  }
}

function makeOne(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
