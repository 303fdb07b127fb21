/** Probes of the disk and the database, for the alerts (reference §11.6). */
import { statfs } from 'node:fs/promises';
import type { Clock } from '../platform/clock.ts';
import { type Storage, StorageUnavailable } from '../storage/database.ts';

/**
 * The disk is low if its free space is below the smaller of two limits: bytes, and a fraction of the disk. The fault is
 * over at twice that limit.
 */
const LOW_BYTES = 1_000_000_000;
const LOW_SHARE = 0.05;

/** Time without a failure after which an outage of the database is over. */
const STEADY_MS = 60_000;

export type DiskSpace = { freeBytes: number; wholeBytes: number };

const lowOf = (wholeBytes: number) => Math.min(LOW_BYTES, wholeBytes * LOW_SHARE);

export function isDiskLow({ freeBytes, wholeBytes }: DiskSpace): boolean {
  return freeBytes < lowOf(wholeBytes);
}

/** Measures the disk of a folder. Returns undefined if the folder is missing, because PostgreSQL needs no data folder. */
export async function diskSpaceOf(folder: string): Promise<DiskSpace | undefined> {
  try {
    const { bavail, blocks, bsize } = await statfs(folder);
    return { freeBytes: bavail * bsize, wholeBytes: blocks * bsize };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return undefined;
  }
}

export type ProbeResult = 'fault' | 'end' | 'nothing';

/** Returns the probe of the disk. Without a folder, the disk is not low. The probe throws the errors of `diskSpace`. */
export function openDiskProbe(diskSpace: () => Promise<DiskSpace | undefined>): () => Promise<ProbeResult> {
  // True at the start, because an earlier process may have found the disk low.
  let endsWithSpace = true;
  return async () => {
    const space = await diskSpace();
    if (space !== undefined && isDiskLow(space)) {
      endsWithSpace = true;
      return 'fault';
    }
    const hasRecovered = space === undefined || space.freeBytes >= 2 * lowOf(space.wholeBytes);
    if (!endsWithSpace || !hasRecovered) return 'nothing';
    endsWithSpace = false;
    return 'end';
  };
}

/** Opens the probe of the database. All failures of one outage count as one fault. */
export function openStoreProbe(storage: Pick<Storage, 'check'>, clock: Clock) {
  let isUnavailable = false;
  let steadySince = clock.monotonic();
  let endsWhenSteady = true;
  return {
    /** Records an outage that a request has met between two probes. */
    wasUnavailable(): void {
      isUnavailable = true;
    },
    /** Returns `unavailable` while the database can't be written, and `fault` once it can be written again. */
    async probe(): Promise<ProbeResult | 'unavailable'> {
      try {
        await storage.check();
      } catch (error) {
        if (!(error instanceof StorageUnavailable)) throw error;
        isUnavailable = true;
        return 'unavailable';
      }
      if (isUnavailable) {
        isUnavailable = false;
        steadySince = clock.monotonic();
        endsWhenSteady = true;
        return 'fault';
      }
      if (!endsWhenSteady || clock.monotonic() - steadySince < STEADY_MS) return 'nothing';
      endsWhenSteady = false;
      return 'end';
    },
  };
}
