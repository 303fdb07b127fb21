/** The doctor's check of the wall clock, by which events are dated and previews expire. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../clock.ts';
import type { Settings } from '../../settings/settings.ts';
import { type Finding, tryOut } from './finding.ts';

/** No clock of a machine that runs this can be right before it was written. */
const FIRST_PLAUSIBLE_YEAR = 2026;
/** A clock that is kept right is never off by so much. */
const TOLERANCE_MS = 60_000;
/** What receivers refuse (Standard Webhooks, and our page for them): every submission would be lost. */
const REFUSED_MS = 5 * 60_000;

/**
 * Takes how far this clock was ahead of the upstream's when it answered the test event, in milliseconds;
 * undefined where it named no time, or was not asked.
 */
export function checkClock(
  { dataDir }: Settings,
  clock: Clock,
  aheadMs: number | undefined,
): Promise<Finding> {
  const remedy =
    'Set the clock of this machine, and keep it by NTP: events are dated and previews expire by it.';
  return tryOut('clock', remedy, async () => {
    const now = clock.now();
    const time = `It is ${now.toISOString()}`;
    if (now.getUTCFullYear() < FIRST_PLAUSIBLE_YEAR) {
      return { outcome: 'failed', says: `${time}.`, remedy };
    }
    const latest = latestChange(dataDir);
    if (latest !== undefined && latest > now.getTime() + TOLERANCE_MS) {
      return { outcome: 'failed', says: `${time}. A file in ${dataDir} is younger.`, remedy };
    }
    if (aheadMs !== undefined) return judge(time, aheadMs, remedy);
    const compared =
      latest === undefined ? 'nothing to compare it with' : `no file in ${dataDir} is younger`;
    return { outcome: 'ok', says: `${time}. No upstream named its time; ${compared}.` };
  });
}

/** By the header `Date` of the upstream, which has whole seconds. */
function judge(time: string, aheadMs: number, remedy: string): Omit<Finding, 'check'> {
  const seconds = Math.round(Math.abs(aheadMs) / 1000);
  const says = `${time}, ${seconds} s ${aheadMs < 0 ? 'behind' : 'ahead of'} the upstream’s clock.`;
  if (Math.abs(aheadMs) <= TOLERANCE_MS) return { outcome: 'ok', says };
  if (Math.abs(aheadMs) <= REFUSED_MS) return { outcome: 'warning', says, remedy };
  return { outcome: 'failed', says: `${says} Receivers refuse more than 5 minutes.`, remedy };
}

/** When something in the folder was last written, in milliseconds; undefined where there is nothing. */
function latestChange(folder: string): number | undefined {
  const names = statSync(folder, { throwIfNoEntry: false }) ? readdirSync(folder) : [];
  const times = names.map(
    (name) => statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0,
  );
  return times.length === 0 ? undefined : Math.max(...times);
}
