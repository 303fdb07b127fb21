/**
 * Compares one path of the service with another server, and with a bare server that omits the extra work of
 * `servers/duties.ts`. Each server is started several times, because two processes of the same code differ by up to 15 %.
 * Each process has its own data folder. The servers get load in turn (A1 B1 A2 B2 A3 B3 A1 …). A ratio is the median of
 * the ratios of neighbouring slices, so that a slow drift of the machine cancels out.
 */
import { join } from 'node:path';
import { systemClock } from '../src/platform/clock.ts';
import { openSqlite } from '../src/storage/sqlite/store.ts';
import { ask, type Measured, pace, saturate, type Target } from './load.ts';
import type { Path } from './paths.ts';
import { type Server, startServer } from './processes.ts';
import { type Requests, series } from './requests.ts';
import { environmentOf, makeDataFolder, SERVICE, sampleOf } from './service.ts';
import { loadByWrk, wrkIsInstalled } from './wrk.ts';

/** Numbers of rounds, and times in milliseconds. */
export type Plan = {
  /** Number of processes of each server. */
  starts: number;
  rounds: number;
  sliceMs: number;
  warmUpMs: number;
  pacedRounds: number;
  /**
   * Number of rounds with `wrk`. `withoutDuties` adds a bare server that omits the work of `servers/duties.ts`. A quick
   * run has no such rounds and no such server.
   */
  wrkRounds: number;
  withoutDuties: boolean;
};

/** The service of another commit. `sameSchema` is true if it can use a database of today's code. */
export type Other = { against: string; argv: readonly string[]; sameSchema: boolean };

export type Side = Measured & {
  /** Fraction of its core that the server used. A value well under 1 means that something else was the limit. */
  busy: number;
  /** The p99 at half of the slower server's peak, in milliseconds. Undefined if it was not measured. */
  pacedP99?: number;
};

/**
 * The service's requests per second, divided by the requests per second of the other server (`other`). `bare` compares
 * with the bare server that omits the work of `servers/duties.ts`, if it ran.
 */
export type Ratios = { other: number; bare?: number };

export type Comparison = {
  path: Path;
  against: string;
  ratios: Ratios;
  /** Ratios measured with `wrk`, if `wrk` is installed and can send the path's requests. */
  byWrk?: Ratios;
  service: Side;
  other: Side;
  loadedMb: number;
};

type Started = { server: Server; target: Target; requests: Requests; next: () => string };

/** The processes of one server. */
type Contender = [Started, ...Started[]];

export async function compare(path: Path, upstreamUrl: string, plan: Plan, commit?: Other): Promise<Comparison> {
  const folders: { remove(): void }[] = [];
  const processes: Started[] = [];
  const startOne = async (
    argv: readonly string[],
    { status, requests: make }: Pick<Path, 'status' | 'requests'>,
    extra: Record<string, string>,
  ) => {
    const folder = makeDataFolder();
    folders.push(folder);
    await prepare(path, folder.path);
    const environment = environmentOf(folder.path, upstreamUrl, path.logLevel);
    const settings = { ...environment, ...path.settings, ...extra };
    const server = await startServer(argv, settings, '/healthz');
    const target = { port: server.port, connections: path.connections, status };
    const requests = make();
    const started = { server, target, requests, next: series(requests) };
    processes.push(started);
    return started;
  };
  const start = async (argv: readonly string[], of: Pick<Path, 'status' | 'requests'>, extra = {}) => {
    const contender: Contender = [await startOne(argv, of, extra)];
    while (contender.length < plan.starts) contender.push(await startOne(argv, of, extra));
    return contender;
  };
  const other = commit ?? path;
  try {
    const service = await start(SERVICE, path);
    const [{ target, next }] = service;
    const { head, body } = await ask(target, next());
    const sample = { SAMPLE: JSON.stringify(sampleOf(head, body)) };
    const contenders = [service, await start(other.argv, (commit === undefined && path.otherwise) || path, sample)];
    if (commit === undefined && path.against === 'floor' && plan.withoutDuties) {
      contenders.push(await start(path.argv, path, { ...sample, DUTIES: 'none' }));
    }
    for (const each of processes) await saturate(each.target, each.next, plan.warmUpMs);
    return { path, against: other.against, ...(await measure(path, contenders, plan)) };
  } finally {
    for (const { server } of processes) await server.end();
    for (const folder of folders) folder.remove();
  }
}

/** Inserts the path's rows into the database before a server opens it. */
export async function prepare(path: Path, dataDir: string): Promise<void> {
  if (path.prepare === undefined) return;
  const storage = await openSqlite(join(dataDir, 'service.db'), systemClock);
  await path.prepare(storage);
  await storage.close();
}

async function measure(path: Path, contenders: readonly Contender[], plan: Plan) {
  const slices = await inTurn(contenders, plan.rounds, (each) => slice(each, plan.sliceMs));
  const [service, other] = slices.map(summarize);
  if (service === undefined || other === undefined) throw new Error('There were two.');
  const loadedMb = contenders[0]?.[0].server.residentMb() ?? Number.NaN;
  if (path.paced && plan.pacedRounds > 0) {
    const perSecond = Math.min(service.perSecond, other.perSecond) / 2;
    const [ours, theirs] = await inTurn(contenders.slice(0, 2), plan.pacedRounds, (each) =>
      pace(each.target, each.next, perSecond, plan.sliceMs),
    );
    service.pacedP99 = p99Of(ours);
    other.pacedP99 = p99Of(theirs);
  }
  const ratios = ratiosOf(slices.map((own) => own.map(({ perSecond }) => perSecond)));
  if (plan.wrkRounds === 0 || !wrkIsInstalled || !contenders.every(([{ requests }]) => requests.steady)) {
    return { ratios, service, other, loadedMb };
  }
  const rates = await inTurn(contenders, plan.wrkRounds, ({ server, requests }) =>
    loadByWrk(server.port, requests.from('ADDRESS'), WRK_SECONDS),
  );
  return { ratios, byWrk: ratiosOf(rates), service, other, loadedMb };
}

/** `wrk` counts its time in whole seconds. */
const WRK_SECONDS = 3;

/**
 * Runs one slice of each compared server in turn, in several rounds. Each round uses the next process of each server.
 * Returns the slices of each server.
 */
async function inTurn<T>(
  contenders: readonly Contender[],
  rounds: number,
  run: (process: Started) => Promise<T>,
): Promise<T[][]> {
  const slices: T[][] = contenders.map(() => []);
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, contender] of contenders.entries()) {
      slices[index]?.push(await run(contender[round % contender.length] ?? contender[0]));
    }
  }
  return slices;
}

type Slice = Measured & { busy: number };

async function slice({ target, server, next }: Started, ms: number): Promise<Slice> {
  const cpuBefore = server.cpuMs();
  const before = performance.now();
  const measured = await saturate(target, next, ms);
  const busy = (server.cpuMs() - cpuBefore) / (performance.now() - before);
  return { ...measured, busy };
}

/** Returns the ratios of the service's requests per second to the requests per second of each other server. */
function ratiosOf([ours = [], theirs = [], bare]: readonly number[][]): Ratios {
  const ratio = (others: readonly number[]) => median(neighbours(ours, others));
  return { other: ratio(theirs), ...(bare && { bare: ratio(bare) }) };
}

/** Returns the ratios of neighbouring slices: A1/B1, A2/B1, A2/B2, A3/B2, … */
function neighbours(ours: readonly number[], theirs: readonly number[]): number[] {
  return ours.flatMap((own, index) =>
    [theirs[index - 1], theirs[index]]
      .filter((neighbour) => neighbour !== undefined)
      .map((neighbour) => own / neighbour),
  );
}

function summarize(slices: readonly Slice[]): Side {
  const of = (key: keyof Slice) => median(slices.map((each) => each[key]));
  return { perSecond: of('perSecond'), p50: of('p50'), p99: of('p99'), busy: of('busy') };
}

function p99Of(slices: readonly Measured[] = []): number {
  return median(slices.map(({ p99 }) => p99));
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
