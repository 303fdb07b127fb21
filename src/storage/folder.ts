/** Makes folders for the service's owner alone. */
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder, and those above it, where they are not there. Node's own `recursive` never comes
 * back where a folder can't be made although its parent is there, as below /proc.
 */
export function makeFolder(path: string): void {
  try {
    make(path);
  } catch (error) {
    // Never of `/` and `.`, where this ends: they are there.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    makeFolder(dirname(path));
    make(path);
  }
}

function make(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
