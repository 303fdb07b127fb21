/** What the alerts look at by themselves: the disk and the store (beyond §2). */
import type { Clock } from '../clock.ts';
import { type Storage, StorageUnavailable } from '../storage/database.ts';

/** Less of a disk than the lesser of these is too little; the fault is over at twice that. */
const LOW_BYTES = 1_000_000_000;
const LOW_SHARE = 0.05;

/** So long the store has to answer without a fault. */
const STEADY_MS = 60_000;

export type Room = { freeBytes: number; wholeBytes: number };

/** Whether that is too little. */
export function isLow({ freeBytes, wholeBytes }: Room): boolean {
  return freeBytes < lowOf(wholeBytes);
}

function lowOf(wholeBytes: number): number {
  return Math.min(LOW_BYTES, wholeBytes * LOW_SHARE);
}

export type Look = 'fault' | 'end' | 'nothing';

/** Takes what says how much room there is; returns what looks at it. Throws where that can't be asked. */
export function openDiskLook(room: () => Promise<Room>): () => Promise<Look> {
  // After a start as well: whoever found it low may have ended since.
  let endsWithRoom = true;
  return async () => {
    const { freeBytes, wholeBytes } = await room();
    const low = lowOf(wholeBytes);
    if (freeBytes < low) {
      endsWithRoom = true;
      return 'fault';
    }
    if (!endsWithRoom || freeBytes < 2 * low) return 'nothing';
    endsWithRoom = false;
    return 'end';
  };
}

/** What looks whether something can be written; `away` while it can't, and a fault once it is back. */
export function openStoreLook(
  storage: Pick<Storage, 'check'>,
  clock: Clock,
): () => Promise<Look | 'away'> {
  let isAway = false;
  let steadySince = clock.monotonic();
  let endsWhenSteady = true;
  return async () => {
    try {
      await storage.check();
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
      isAway = true;
      return 'away';
    }
    if (isAway) {
      isAway = false;
      steadySince = clock.monotonic();
      endsWhenSteady = true;
      return 'fault';
    }
    if (!endsWhenSteady || clock.monotonic() - steadySince < STEADY_MS) return 'nothing';
    endsWhenSteady = false;
    return 'end';
  };
}
