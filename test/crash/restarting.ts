/** A service that is killed in the middle of a request and started again on the same database. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import type { Storage } from '../../src/storage/database.ts';
import type { Answer } from '../support/agent.ts';
import type { TestDatabase } from '../support/databases.ts';
import { freePort } from '../support/free-port.ts';
import { type ServiceProcess, startProcess, temporaryFolder } from '../support/process.ts';

/** Time limit for the request to reach its point. */
const REACHED_WITHIN_MS = 20_000;

type Ask = (headers: Record<string, string>) => Promise<Answer>;

export type Restarting = Awaited<ReturnType<typeof startRestarting>>;

/** Starts a service on this database. `crash-point.ts` explains the points. */
export async function startRestarting(database: TestDatabase, environment: Record<string, string> = {}) {
  const preload = [import.meta.resolve('./crash-point.ts')];
  const dataDir = temporaryFolder();
  // OAuth compares addresses with the address of the service.
  const port = await freePort();
  const own = { DATABASE_URL: database.url, BASE_URL: `http://127.0.0.1:${port}`, LOG_LEVEL: 'error' };
  const start = () => startProcess({ dataDir, port, preload, environment: { ...own, ...environment } });
  let service: ServiceProcess = await start();

  /** Waits until the process is dead, and starts the next one. */
  async function restart(point: string): Promise<void> {
    const late = sleep(REACHED_WITHIN_MS, { signal: `not reached: ${point}` }, { ref: false });
    expect((await Promise.race([service.exited, late])).signal).toBe('SIGKILL');
    service = await start();
  }

  return {
    restart,
    /** The running process. */
    now: () => service,

    /** Sends a request, waits until it has killed the process at the point, and starts the next process. */
    async kill(point: string, ask: Ask): Promise<void> {
      await ask({ 'x-crash': point }).catch(() => {});
      await restart(point);
    },

    /** Opens the database only during `act`, so that a restarted process is the first to open the file. */
    async using<T>(act: (storage: Storage) => Promise<T>): Promise<T> {
      const storage = await database.open(systemClock);
      try {
        return await act(storage);
      } finally {
        await storage.close();
      }
    },
  };
}
