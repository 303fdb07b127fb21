/**
 * `node bench/scale.ts [SECONDS]` compares 1, 2 and 3 instances on one PostgreSQL and one Redis, under the same load.
 * The command prints each path's peak, its p99 at half of the peak of one instance, and the cores that each program
 * used at the peak. The numbers of instances take turns, and each value is a median.
 */
import { spawnSync } from 'node:child_process';
import { createClient } from '@redis/client';
import { databases, dropDatabases, redisUrl } from '../test/support/databases.ts';
import { median } from './compare.ts';
import { pace, saturate, type Target } from './load.ts';
import { type Path, paths } from './paths.ts';
import { cpuMsOf, type Server, startServer } from './processes.ts';
import { type Requests, series } from './requests.ts';
import { environmentOf, makeDataFolder, SERVICE } from './service.ts';
import { startUpstream } from './upstream.ts';

const SLICE_MS = Number(process.argv[2] ?? 4) * 1_000;
const WARM_UP_MS = 3_000;
const ROUNDS = 5;
/** A database of its own. */
const REDIS = `${redisUrl}/9`;
const NUMBERS = [1, 2, 3];
const NAMES = ['a lead, JSON', 'preview', 'execute, 32 in flight'];

type Kind = 'instances' | 'PostgreSQL' | 'Redis' | 'load and upstream';

/** Instances that run, and a function that sends the next request of one of them. */
type Group = { servers: readonly Server[]; targets: readonly Target[]; next: () => string };

type Peak = { perSecond: number; cores: Record<Kind, number> };

const create = databases.find(([name]) => name === 'PostgreSQL')?.[1];
if (create === undefined) throw new Error('PostgreSQL is not available.');
const upstream = await startUpstream();
await emptyRedis();
for (const name of NAMES) {
  const path = paths.find((each) => each.name === name);
  if (path === undefined) throw new Error(`There is no path ${name}.`);
  await measure(path);
}
await dropDatabases(process.ppid);
upstream.close();

async function measure(path: Path): Promise<void> {
  const ends: (() => Promise<void>)[] = [];
  try {
    await compareNumbers(path, ends);
  } finally {
    for (const end of ends) await end();
  }
}

async function compareNumbers(path: Path, ends: (() => Promise<void>)[]): Promise<void> {
  const groups: Group[] = [];
  const requests = path.requests();
  for (const number of NUMBERS) groups.push(await startGroup(path, number, requests, ends));
  const peaks = groups.map((): Peak[] => []);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [index, group] of groups.entries()) peaks[index]?.push(await peakOf(group));
  }
  const half = median((peaks[0] ?? []).map(({ perSecond }) => perSecond)) / 2;
  const waits = groups.map((): number[] => []);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [index, { targets, next }] of groups.entries()) {
      const paced = targets.map((target) => pace(target, next, half / targets.length, SLICE_MS));
      waits[index]?.push(Math.max(...(await Promise.all(paced)).map(({ p99 }) => p99)));
    }
  }
  say(`${path.name}: p99 at ${half.toFixed(0)} requests a second`);
  for (const [index, number] of NUMBERS.entries()) {
    const own = peaks[index] ?? [];
    const kinds = Object.keys(own[0]?.cores ?? {}) as Kind[];
    const cores = kinds.map((kind) => `${kind} ${median(own.map((peak) => peak.cores[kind])).toFixed(2)}`);
    const perSecond = median(own.map((peak) => peak.perSecond)).toFixed(0);
    say(
      `  ${number}: ${perSecond} a second, p99 ${median(waits[index] ?? []).toFixed(1)} ms, cores: ${cores.join(', ')}`,
    );
  }
}

/** Empties the Redis database of this command, because its counts refuse the addresses of an earlier run. */
async function emptyRedis(): Promise<void> {
  const redis = await createClient({ url: REDIS }).connect();
  await redis.flushDb();
  redis.destroy();
}

/**
 * Starts instances that share a database and a Redis. The path's connections are distributed over the instances. `ends`
 * gets what ends each part.
 */
async function startGroup(path: Path, number: number, requests: Requests, ends: (() => Promise<void>)[]) {
  const database = await create?.();
  const folder = makeDataFolder();
  ends.push(async () => {
    folder.remove();
    await database?.remove();
  });
  const environment = {
    ...environmentOf(folder.path, upstream.url, path.logLevel),
    DATABASE_URL: database?.url ?? '',
    REDIS_URL: REDIS,
  };
  const servers: Server[] = [];
  while (servers.length < number) {
    const server = await startServer(SERVICE, environment, '/healthz', '0-1');
    ends.unshift(() => server.end('SIGTERM'));
    servers.push(server);
  }
  const connections = Math.ceil(path.connections / number);
  const group: Group = {
    servers,
    targets: servers.map(({ port }) => ({ port, connections, status: path.status })),
    next: series(requests),
  };
  await Promise.all(group.targets.map((target) => saturate(target, group.next, WARM_UP_MS)));
  return group;
}

async function peakOf({ servers, targets, next }: Group): Promise<Peak> {
  const before = usedBy(servers);
  const began = performance.now();
  const measured = await Promise.all(targets.map((target) => saturate(target, next, SLICE_MS)));
  const ms = performance.now() - began;
  const after = usedBy(servers);
  const cores = Object.fromEntries(
    Object.entries(after).map(([kind, used]) => [kind, (used - before[kind as Kind]) / ms]),
  ) as Record<Kind, number>;
  return { perSecond: measured.reduce((sum, { perSecond }) => sum + perSecond, 0), cores };
}

/** Returns the processor time of each kind of process so far, in milliseconds. */
function usedBy(servers: readonly Server[]): Record<Kind, number> {
  const { user, system } = process.cpuUsage();
  return {
    instances: servers.reduce((sum, server) => sum + server.cpuMs(), 0),
    PostgreSQL: usedByProgram('postgres'),
    Redis: usedByProgram('redis-server'),
    'load and upstream': (user + system) / 1_000,
  };
}

function usedByProgram(name: string): number {
  const { stdout } = spawnSync('pgrep', ['-x', name], { encoding: 'utf8' });
  const pids = stdout.split('\n').filter((pid) => pid !== '');
  return pids.reduce((sum, pid) => {
    try {
      return sum + cpuMsOf(Number(pid));
    } catch {
      // A process of PostgreSQL for a short task has ended since.
      return sum;
    }
  }, 0);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
