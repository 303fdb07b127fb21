/** Runs before the first and after the last test of a project. */
import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { dropDatabases } from './databases.ts';

const memory = '/dev/shm';

/**
 * Puts the folders of all tests into memory if there is room. A slow disk would make each commit of each test wait, and
 * what tests prove doesn’t depend on a disk. Returns what removes the folders and databases.
 */
export function setup(): () => Promise<void> {
  const folder = freeBytes(memory) > 2 ** 30 ? mkdtempSync(`${memory}/tests-`) : undefined;
  if (folder !== undefined) {
    // Some tests act as another user.
    chmodSync(folder, 0o755);
    process.env.TMPDIR = folder;
  }
  return async () => {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
    await dropDatabases(process.pid);
  };
}

function freeBytes(path: string): number {
  try {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize;
  } catch {
    return 0;
  }
}
