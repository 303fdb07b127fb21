/** The doctor's checks of this machine: folder, database and clock (reference §13.3). */
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { newId } from '../../platform/random.ts';
import type { Settings } from '../../settings/settings.ts';
import { databaseFault } from '../../start/start-errors.ts';
import { StorageUnavailable } from '../../storage/database.ts';
import { ExitFault } from '../command-errors.ts';
import { isDatabaseThere, placeOf, withStorage } from '../open-store.ts';
import { type Check, failed, off, ok } from './check.ts';
import { accessWarnings } from './warnings.ts';

/** Returns the remedy for a data folder that can't be used. */
export function folderRemedy({ dataDir }: Settings): string {
  return `Change the permissions of ${dataDir}, or set DATA_DIR to a folder that you own.`;
}

export const dataFolder: Check = {
  check: 'data folder',
  remedy: folderRemedy,
  run({ settings: { mode, database, dataDir } }) {
    if (mode === 'production' && database.kind === 'postgres') return off('The service stores nothing in DATA_DIR.');
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    writeTestFile(dataDir);
    return ok(`${dataDir} is writable.`, accessWarnings(dataDir));
  },
};

export const database: Check = {
  check: 'database',
  remedy: 'Check DATABASE_URL, DATA_DIR and the free space of the disk.',
  async run({ settings }) {
    const place = placeOf(settings.database);
    if (!isDatabaseThere(settings.database)) {
      writeTestFile(nearestFolder(dirname(place)));
      return ok(`There is no database yet at ${place}. The first start creates it.`);
    }
    try {
      return await withStorage(settings, async (storage) => {
        // One transaction writes and deletes the row, so nobody else sees it.
        await storage.write(async (tx) => {
          const id = `doctor-${newId()}`;
          await tx.insertInto('scrub_requests').values({ id, due_ms: 0 }).execute();
          await tx.deleteFrom('scrub_requests').where('id', '=', id).execute();
        });
        return ok(`${storage.kind === 'sqlite' ? 'SQLite' : 'PostgreSQL'} is readable and writable.`);
      });
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
      throw new ExitFault(databaseFault(error, settings));
    }
  },
};

function writeTestFile(folder: string): void {
  const path = join(folder, `.doctor-${newId()}`);
  writeFileSync(path, 'doctor', { mode: 0o600, flush: true });
  rmSync(path);
}

/** Returns the folder, or the nearest existing folder above it. */
function nearestFolder(folder: string): string {
  return existsSync(folder) ? folder : nearestFolder(dirname(folder));
}

/** No correct clock shows an earlier year, because this code was written in 2026. */
const FIRST_PLAUSIBLE_YEAR = 2026;
/** Largest normal difference between two clocks, in milliseconds. A synchronized clock never differs by more. */
const TOLERANCE_MS = 60_000;
/** Receivers refuse events with a larger difference (Standard Webhooks), so every submission would be lost. */
const REFUSED_MS = 5 * 60_000;

const CLOCK_REMEDY =
  'Set the clock of this machine, and synchronize it with NTP, because events and previews depend on it.';

export const wallClock: Check = {
  check: 'clock',
  remedy: CLOCK_REMEDY,
  run({ settings: { dataDir }, clock, aheadMs }) {
    const now = clock.now();
    const time = `The time is ${now.toISOString()}`;
    if (now.getUTCFullYear() < FIRST_PLAUSIBLE_YEAR) return failed(`${time}.`);
    const latest = latestChange(dataDir);
    if (latest !== undefined && latest > now.getTime() + TOLERANCE_MS) {
      return failed(`${time}. A file in ${dataDir} has a later time.`);
    }
    if (aheadMs === undefined) {
      const compared = latest === undefined ? '' : `, and no file in ${dataDir} has a later time`;
      return ok(`${time}. There is no upstream time to compare with${compared}.`);
    }
    // The upstream's header `Date` has whole seconds.
    const seconds = Math.round(Math.abs(aheadMs) / 1000);
    const says = `${time}, ${seconds} s ${aheadMs < 0 ? 'behind' : 'ahead of'} the upstream’s clock.`;
    if (Math.abs(aheadMs) <= TOLERANCE_MS) return ok(says);
    if (Math.abs(aheadMs) > REFUSED_MS) return failed(`${says} Receivers refuse a difference of more than 5 minutes.`);
    return { outcome: 'warning', says, remedy: CLOCK_REMEDY };
  },
};

/**
 * Returns the time at which an entry of the folder was last written, in milliseconds. Returns undefined if there is no
 * entry.
 */
function latestChange(folder: string): number | undefined {
  const names = statSync(folder, { throwIfNoEntry: false })?.isDirectory() ? readdirSync(folder) : [];
  const times = names.map((name) => statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0);
  return times.length === 0 ? undefined : Math.max(...times);
}
