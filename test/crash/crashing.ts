import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { systemClock } from '../../src/platform/clock.ts';
import type { Storage } from '../../src/storage/database.ts';
import { openSqlite } from '../../src/storage/sqlite/store.ts';
import { type ProcessOptions, type ServiceProcess, startProcess } from '../support/process.ts';
import type { ProgrammableUpstream } from '../support/upstream.ts';

/** The maximum of the setting, so that no lease expires before a test calls `expireLeases`. */
const UPSTREAM_TIMEOUT_MS = 60_000;
/** A process sends only within this time after its claim (reference §5.11). Its own clock counts, so tests wait. */
export const FENCED_AFTER_MS = 5_000;
const LEASE_MS = UPSTREAM_TIMEOUT_MS + FENCED_AFTER_MS;
/** The longest delay before the first redelivery: a minute plus 10 %. */
const FIRST_DELAY_MS = 66_000;
/** Time limit for the effect of a periodic job, which runs every five seconds. */
export const LOOKED_WITHIN_MS = 60_000;

const crashPoint = import.meta.resolve('./crash-point.ts');

/** Returns options for a process that is killed or stopped at this point. */
export function crashingAt(point: string, signal = 'SIGKILL') {
  return {
    preload: [crashPoint],
    environment: { CRASH_POINT: point, CRASH_SIGNAL: signal },
  };
}

/** Starts a service in front of this upstream. */
export function startFor(upstream: ProgrammableUpstream, options: ProcessOptions): Promise<ServiceProcess> {
  const environment = {
    UPSTREAM_URL: upstream.url,
    UPSTREAM_TIMEOUT_MS: String(UPSTREAM_TIMEOUT_MS),
    ...options.environment,
  };
  return startProcess({ ...options, environment });
}

/** Moves the start of every lease back, so that all leases have expired and no test waits for that. */
export async function expireLeases(storage: Storage): Promise<void> {
  await storage.write(async (tx) => {
    for (const table of ['executions', 'submissions'] as const) {
      await tx
        .updateTable(table)
        .set((row) => ({ lease_started_ms: row('lease_started_ms', '-', LEASE_MS) }))
        .execute();
    }
  });
}

/** Brings every redelivery forward by the longest first delay. */
export async function endDelays(storage: Storage): Promise<void> {
  await storage.write(async (tx) => {
    await tx
      .updateTable('submissions')
      .set((row) => ({ next_attempt_ms: row('next_attempt_ms', '-', FIRST_DELAY_MS) }))
      .execute();
  });
}

/** Changes the database of a folder, beside the service or without it. */
export async function changeIn(dataDir: string, change: (storage: Storage) => Promise<void>): Promise<void> {
  const storage = await openSqlite(join(dataDir, 'service.db'), systemClock);
  try {
    await change(storage);
  } finally {
    await storage.close();
  }
}

/** Returns rows of the database in a folder, read beside the service. */
export function rowsOf(dataDir: string, sql: string) {
  const database = new DatabaseSync(join(dataDir, 'service.db'), { readOnly: true });
  try {
    return database.prepare(sql).all();
  } finally {
    database.close();
  }
}

/** Returns the status of each execution and its submission, with the outcomes of the attempts. */
export function standings(dataDir: string): Map<unknown, string> {
  const rows = rowsOf(
    dataDir,
    `select e.action_id, s.id, e.status, s.status as kept, s.attempts from executions e
       full join (select * from submissions where origin = 'agent') s on s.id = e.action_id`,
  );
  return new Map(
    rows.map(({ action_id, id, status, kept, attempts }) => [
      action_id ?? id,
      [status, kept, ...outcomesOf(attempts)].join(', '),
    ]),
  );
}

/** Returns the outcomes of a row's attempts in their order. */
export function outcomesOf(attempts: unknown): string[] {
  return String(attempts ?? '')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line).outcome);
}
