/** Cold start, from the spawn to the first answer, in turn with the smallest server; and idle memory. */
import { setTimeout as sleep } from 'node:timers/promises';
import { median } from './compare.ts';
import { startServer } from './processes.ts';
import { environmentOf, makeDataFolder, SERVICE } from './service.ts';

const BARE = [new URL('servers/bare.js', import.meta.url).pathname];
const MANIFEST = '/api/agent/manifest';

export type Start = {
  ratio: number;
  serviceMs: number;
  bareMs: number;
  /** When the start is over. */
  startedMb: number;
  /** When nobody has asked for anything for long, and V8 has given back what the start left. */
  idleMb: number;
};

const SETTLE_MS = 3_000;

/** Takes how often a start is measured, and how long a process is left alone until it counts as idle. */
export async function measureStart(rounds: number, idleMs: number): Promise<Start> {
  const folder = makeDataFolder();
  const environment = environmentOf(folder.path, 'http://127.0.0.1:9/events', 'info');
  try {
    // The first start makes the database, and as it ends keeps what it compiled for the next ones.
    await (await startServer(SERVICE, environment, MANIFEST)).end('SIGTERM');
    const second = await startServer(SERVICE, environment, MANIFEST);
    await sleep(SETTLE_MS);
    const startedMb = second.residentMb();
    await sleep(idleMs);
    const idleMb = second.residentMb();
    await second.end('SIGTERM');
    const service: number[] = [];
    const bare: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      for (const [argv, times] of [[SERVICE, service] as const, [BARE, bare] as const]) {
        const server = await startServer(argv, environment, MANIFEST);
        times.push(server.startedInMs);
        await server.end();
      }
    }
    const ratios = service.map((ms, index) => ms / (bare[index] ?? Number.NaN));
    return {
      ratio: median(ratios),
      serviceMs: median(service),
      bareMs: median(bare),
      startedMb,
      idleMb,
    };
  } finally {
    folder.remove();
  }
}
