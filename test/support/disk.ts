import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'vitest';
import { attemptUntilFinal, previewLeads } from './leads.ts';
import { type ServiceProcess, startProcess } from './process.ts';

/** Starts a process with short leases, and executes once so that all modules are loaded. */
export async function startWarm(upstream: { url: string }, dataDir?: string): Promise<ServiceProcess> {
  const service = await startProcess({
    environment: { UPSTREAM_URL: upstream.url, UPSTREAM_TIMEOUT_MS: '1000', LOG_LEVEL: 'error' },
    ...(dataDir === undefined ? {} : { dataDir }),
  });
  const [lead] = await previewLeads(service, 1);
  await attemptUntilFinal(service, lead ?? expect.fail());
  return service;
}

/** Reads or writes the database from outside the service. */
export function beside<T>(service: Pick<ServiceProcess, 'dataDir'>, look: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(join(service.dataDir, 'service.db'), { timeout: 2_000 });
  try {
    return look(database);
  } finally {
    database.close();
  }
}

/** Expects that SQLite's integrity check passes. */
export function expectIntact(service: Pick<ServiceProcess, 'dataDir'>): void {
  const rows = beside(service, (database) => database.prepare('pragma integrity_check').all());
  expect(rows).toEqual([{ integrity_check: 'ok' }]);
}
