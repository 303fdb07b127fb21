/**
 * One path of the service against another server, and against the bare server without duties: fresh processes of
 * all, each with a data folder of its own, loaded in turn, A B A B …; a ratio is the median of those of neighbouring
 * slices, so that a slow drift of the machine falls out.
 */
import { join } from 'node:path';
import { systemClock } from '../src/clock.ts';
import { openSqlite } from '../src/storage/sqlite/store.ts';
import { ask, type Measured, pace, saturate, type Target } from './load.ts';
import type { Path } from './paths.ts';
import { type Server, startServer } from './processes.ts';
import { type Requests, series } from './requests.ts';
import { environmentOf, makeDataFolder, SERVICE, sampleOf } from './service.ts';
import { loadByWrk, wrkIsInstalled } from './wrk.ts';

/** How long and how often is measured. */
export type Plan = {
  rounds: number;
  sliceMs: number;
  warmUpMs: number;
  pacedRounds: number;
  /** By `wrk`, and against the bare server without duties; a quick run has neither. */
  wrkRounds: number;
  withoutDuties: boolean;
};

/** What the path is measured against: what it names, or the service of another commit. */
export type Other = { against: string; argv: readonly string[] };

export type Side = Measured & {
  /** The share of its core that the server used; well under 1, something else was the limit. */
  busy: number;
  /** At half of the slower server's peak, where that was measured. */
  pacedP99?: number;
};

/** Of the service's requests in a second to those of the other server, and of the one without duties, where there is one. */
export type Ratios = { other: number; bare?: number };

export type Comparison = {
  path: Path;
  against: string;
  ratios: Ratios;
  /** By the second client, where that is there and can send the path's requests. */
  byWrk?: Ratios;
  service: Side;
  other: Side;
  loadedMb: number;
};

type Contender = { server: Server; target: Target; requests: Requests; next: () => string };

export async function compare(
  path: Path,
  upstreamUrl: string,
  plan: Plan,
  commit?: Other,
): Promise<Comparison> {
  const folders: { remove(): void }[] = [];
  const contenders: Contender[] = [];
  const start = async (
    argv: readonly string[],
    { status, requests: make }: Pick<Path, 'status' | 'requests'>,
    extra: Record<string, string> = {},
  ) => {
    const folder = makeDataFolder();
    folders.push(folder);
    await prepare(path, folder.path);
    const environment = environmentOf(folder.path, upstreamUrl, path.logLevel);
    const settings = { ...environment, ...path.settings, ...extra };
    const server = await startServer(argv, settings, '/healthz');
    const target = { port: server.port, connections: path.connections, status };
    const requests = make();
    const contender = { server, target, requests, next: series(requests) };
    contenders.push(contender);
    return contender;
  };
  const other = commit ?? path;
  try {
    const service = await start(SERVICE, path);
    const { head, body } = await ask(service.target, service.next());
    const sample = { SAMPLE: JSON.stringify(sampleOf(head, body)) };
    await start(other.argv, (commit === undefined && path.otherwise) || path, sample);
    if (commit === undefined && path.against === 'floor' && plan.withoutDuties) {
      await start(path.argv, path, { ...sample, DUTIES: 'none' });
    }
    for (const { target, next } of contenders) await saturate(target, next, plan.warmUpMs);
    return { path, against: other.against, ...(await measure(path, contenders, plan)) };
  } finally {
    for (const { server } of contenders) await server.end();
    for (const folder of folders) folder.remove();
  }
}

/** Puts what the path needs into the database, before a server opens it. */
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
  const loadedMb = contenders[0]?.server.residentMb() ?? Number.NaN;
  if (path.paced && plan.pacedRounds > 0) {
    const perSecond = Math.min(service.perSecond, other.perSecond) / 2;
    const [ours, theirs] = await inTurn(contenders.slice(0, 2), plan.pacedRounds, (each) =>
      pace(each.target, each.next, perSecond, plan.sliceMs),
    );
    service.pacedP99 = p99Of(ours);
    other.pacedP99 = p99Of(theirs);
  }
  const ratios = ratiosOf(slices.map((own) => own.map(({ perSecond }) => perSecond)));
  if (
    plan.wrkRounds === 0 ||
    !wrkIsInstalled ||
    !contenders.every((each) => each.requests.steady)
  ) {
    return { ratios, service, other, loadedMb };
  }
  const rates = await inTurn(contenders, plan.wrkRounds, ({ server, requests }) =>
    loadByWrk(server.port, requests.from('ADDRESS'), WRK_SECONDS),
  );
  return { ratios, byWrk: ratiosOf(rates), service, other, loadedMb };
}

/** It counts its time in whole seconds. */
const WRK_SECONDS = 3;

/** One slice of each, and again; returns those of each. */
async function inTurn<T>(
  contenders: readonly Contender[],
  rounds: number,
  run: (contender: Contender) => Promise<T>,
): Promise<T[][]> {
  const slices: T[][] = contenders.map(() => []);
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, contender] of contenders.entries()) {
      slices[index]?.push(await run(contender));
    }
  }
  return slices;
}

type Slice = Measured & { busy: number };

async function slice({ target, server, next }: Contender, ms: number): Promise<Slice> {
  const cpuBefore = server.cpuMs();
  const before = performance.now();
  const measured = await saturate(target, next, ms);
  const busy = (server.cpuMs() - cpuBefore) / (performance.now() - before);
  return { ...measured, busy };
}

/** Takes the requests in a second of the service, of the other server, and of one without duties. */
function ratiosOf([ours = [], theirs = [], bare]: readonly number[][]): Ratios {
  const ratio = (others: readonly number[]) => median(neighbours(ours, others));
  return { other: ratio(theirs), ...(bare && { bare: ratio(bare) }) };
}

/** A1/B1, A2/B1, A2/B2, A3/B2, … */
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
