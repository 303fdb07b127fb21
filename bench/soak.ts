/**
 * Sends the requests of every path at a steady rate for minutes, to show whether memory grows. For each path, another
 * connection sends requests and never reads.
 */
import { pace } from './load.ts';
import { paths } from './paths.ts';
import { startServer } from './processes.ts';
import { series } from './requests.ts';
import { environmentOf, makeDataFolder, SERVICE } from './service.ts';
import { startSlowReaders } from './slow-readers.ts';

/** Requests per second for each path. A busy service handles this rate without a queue. */
const PER_SECOND = 100;
const CONNECTIONS = 8;

const MINUTE_MS = 60_000;

/** Runs the load. Prints the memory after each minute, in MB. */
export async function soak(upstreamUrl: string, minutes: number, say: (line: string) => void): Promise<void> {
  const folder = makeDataFolder();
  const service = await startServer(SERVICE, environmentOf(folder.path, upstreamUrl, 'info'), '/healthz');
  const soaked = paths.filter(({ quick }) => quick);
  const loads = soaked.map(({ status, requests }) => ({
    target: { port: service.port, connections: CONNECTIONS, status },
    next: series(requests()),
  }));
  const endSlowReaders = startSlowReaders(
    service.port,
    soaked.map(({ requests }) => series(requests())),
  );
  try {
    for (let minute = 1; minute <= minutes; minute += 1) {
      await Promise.all(loads.map(({ target, next }) => pace(target, next, PER_SECOND, MINUTE_MS)));
      say(`minute ${minute}: ${service.residentMb().toFixed(0)} MB\n`);
    }
  } finally {
    say(`connections that never read: ${endSlowReaders()}\n`);
    await service.end();
    folder.remove();
  }
}
