/** A small memory file system that can be filled. */
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { mountSmall, temporaryFolder } from './processes.ts';

const MEGABYTES = 96;

export type Disk = {
  folder: string;
  /**
   * True if the disk is a small mount. False if this machine does not permit mounts. In that case an ordinary folder is
   * used and never filled.
   */
  small: boolean;
  full: boolean;
  fill(): void;
  free(): void;
};

/** Mounts the disk. If this machine does not permit mounts, uses an ordinary folder. */
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
