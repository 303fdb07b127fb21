/**
 * Measures memory and the time from the spawn to the first answer, with the embedded inbox, which is the default of
 * `npm start`. Starts of the service alternate with starts of the smallest server.
 */
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { median } from './compare.ts';
import { startServer } from './processes.ts';
import { BUNDLE, environmentOf, makeDataFolder, SERVICE } from './service.ts';

const BARE = [new URL('servers/bare.js', import.meta.url).pathname];
const MANIFEST = '/api/agent/manifest';

export type Start = {
  bareMs: number;
  /** Start from the sources: the time in milliseconds, and its ratio to the time of the bare server. */
  sources: { ms: number; ratio: number };
  /**
   * Start from the bundle. Undefined without `npm run build`. `first` is the ratio of the very first start, without a
   * database and without compiled code.
   */
  bundle: { ms: number; ratio: number; first: number } | undefined;
  /** Memory after the start, in MB. */
  startedMb: number;
  /** Memory after a long time without requests, in MB. By then V8 has released the memory of the start. */
  idleMb: number;
};

const SETTLE_MS = 3_000;

/** Measures `rounds` starts. A process counts as idle after `idleMs` without requests. */
export async function measureStart(rounds: number, idleMs: number): Promise<Start> {
  const folder = makeDataFolder();
  const environment = environmentOf(folder.path, 'inbox:', 'info');
  const programs = [SERVICE, ...(existsSync(BUNDLE[0] ?? '') ? [BUNDLE] : [])];
  try {
    // The first start creates the database. When this process ends, it stores its compiled code for the next starts.
    for (const argv of programs) {
      await (await startServer(argv, environment, MANIFEST)).end('SIGTERM');
    }
    const second = await startServer(SERVICE, environment, MANIFEST);
    await sleep(SETTLE_MS);
    const startedMb = second.residentMb();
    await sleep(idleMs);
    const idleMb = second.residentMb();
    await second.end('SIGTERM');
    const bare: number[] = [];
    const times = programs.map((): number[] => []);
    const first: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      bare.push(await timeOf(BARE, environment));
      for (const [index, argv] of programs.entries()) {
        times[index]?.push(await timeOf(argv, environment));
      }
      if (programs.includes(BUNDLE)) first.push(await timeOfFirst());
    }
    const ratioOf = (all: readonly number[] = []) => median(all.map((ms, round) => ms / (bare[round] ?? Number.NaN)));
    const [sources = [], bundle] = times;
    return {
      bareMs: median(bare),
      sources: { ms: median(sources), ratio: ratioOf(sources) },
      bundle: bundle && { ms: median(bundle), ratio: ratioOf(bundle), first: ratioOf(first) },
      startedMb,
      idleMb,
    };
  } finally {
    folder.remove();
  }
}

async function timeOf(argv: string[], environment: Record<string, string>): Promise<number> {
  const server = await startServer(argv, environment, MANIFEST);
  await server.end();
  return server.startedInMs;
}

async function timeOfFirst(): Promise<number> {
  const folder = makeDataFolder();
  const environment = environmentOf(folder.path, 'inbox:', 'info');
  const time = await timeOf(BUNDLE, { ...environment, NODE_DISABLE_COMPILE_CACHE: '1' });
  folder.remove();
  return time;
}
