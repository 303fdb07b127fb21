import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type ProcessOptions, type ServiceProcess, startProcess } from '../support/process.ts';
import type { ProgrammableUpstream } from '../support/upstream.ts';

const UPSTREAM_TIMEOUT_MS = 4_000;
/** The time-out plus 5 s (contract §4): longer than a restart takes, as a rule. */
export const LEASE_MS = UPSTREAM_TIMEOUT_MS + 5_000;

const crashPoint = import.meta.resolve('./crash-point.ts');

/** What a process is started with that ends, or stops, at this point. */
export function crashingAt(point: string, signal = 'SIGKILL') {
  return {
    preload: [crashPoint],
    environment: { CRASH_POINT: point, CRASH_SIGNAL: signal },
  };
}

/** A service in front of this upstream, with a short lease. */
export function startFor(
  upstream: ProgrammableUpstream,
  options: ProcessOptions,
): Promise<ServiceProcess> {
  const environment = {
    UPSTREAM_URL: upstream.url,
    UPSTREAM_TIMEOUT_MS: String(UPSTREAM_TIMEOUT_MS),
    ...options.environment,
  };
  return startProcess({ ...options, environment });
}

/** What is in the database of a folder, read beside the service. */
export function rowsOf(dataDir: string, sql: string) {
  const database = new DatabaseSync(join(dataDir, 'service.db'), { readOnly: true });
  try {
    return database.prepare(sql).all();
  } finally {
    database.close();
  }
}

/** Each execution over HTTP with its submission: how both stand, and the outcomes of its attempts. */
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

/** How the attempts of a row ended, in their order. */
export function outcomesOf(attempts: unknown): string[] {
  return String(attempts ?? '')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line).outcome);
}
