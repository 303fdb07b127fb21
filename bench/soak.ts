/** Every path at once at a steady rate, for minutes: whether memory grows. */
import { openClient } from './load.ts';
import { type Path, paths } from './paths.ts';
import { startServer } from './processes.ts';
import { environmentOf, makeDataFolder, SERVICE } from './service.ts';

/** Of each path in a second: a busy service, and still one that nothing waits for. */
const PER_SECOND = 100;

const MINUTE_MS = 60_000;

/** Takes the address of the upstream and how many minutes; says the memory after each in MB. */
export async function soak(
  upstreamUrl: string,
  minutes: number,
  say: (line: string) => void,
): Promise<void> {
  const folder = makeDataFolder();
  const service = await startServer(
    SERVICE,
    environmentOf(folder.path, upstreamUrl, 'info'),
    '/healthz',
  );
  const open = async ({ status, requests }: Path) => ({
    client: await openClient(service.port, 8, status),
    next: requests(),
  });
  const loads = await Promise.all(paths.filter(({ quick }) => quick).map(open));
  try {
    for (let minute = 1; minute <= minutes; minute += 1) {
      await Promise.all(loads.map(({ client, next }) => client.pace(next, PER_SECOND, MINUTE_MS)));
      say(`minute ${minute}: ${service.residentMb().toFixed(0)} MB\n`);
    }
  } finally {
    for (const { client } of loads) client.close();
    await service.end();
    folder.remove();
  }
}
