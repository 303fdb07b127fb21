/** A small disk that can be filled: a memory file system of its own. */
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { mountSmall, temporaryFolder } from './processes.ts';

const MEGABYTES = 96;

export type Disk = {
  folder: string;
  /** False where this machine lets nobody mount: then it is an ordinary folder, never filled. */
  small: boolean;
  full: boolean;
  fill(): void;
  free(): void;
};

/** Mounts it; what can't be mounted is an ordinary folder. */
export function openDisk(): Disk {
  const folder = temporaryFolder('disk');
  const filling = join(folder, 'filling');
  const disk: Disk = {
    folder,
    small: mountSmall(folder, MEGABYTES),
    full: false,
    fill: () => {
      disk.full = true;
      const file = openSync(filling, 'w');
      for (const size of [1_048_576, 4_096]) writeUntilFull(file, Buffer.alloc(size, 1));
      closeSync(file);
    },
    free: () => {
      rmSync(filling, { force: true });
      disk.full = false;
    },
  };
  return disk;
}

function writeUntilFull(file: number, block: Buffer): void {
  try {
    while (writeSync(file, block) > 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}
