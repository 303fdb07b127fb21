/**
 * One path of the service against another server: fresh processes of both, loaded in turn, A B A B …;
 * the ratio is the median of those of neighbouring slices, so that a slow drift of the machine falls out.
 */
import { ask, type Measured, pace, saturate, type Target } from './load.ts';
import type { Path } from './paths.ts';
import { type Server, startServer } from './processes.ts';
import { environmentOf, makeDataFolder, SERVICE, sampleOf } from './service.ts';

/** How long and how often is measured. */
export type Plan = { rounds: number; sliceMs: number; warmUpMs: number; pacedRounds: number };

export type Side = Measured & {
  /** The share of its core that the server used; well under 1, something else was the limit. */
  busy: number;
  /** At half of the slower server's peak, where that was measured. */
  pacedP99?: number;
};

export type Comparison = {
  path: Path;
  ratio: number;
  service: Side;
  other: Side;
  loadedMb: number;
};

type Contender = { server: Server; target: Target; next: () => string };

export async function compare(path: Path, upstreamUrl: string, plan: Plan): Promise<Comparison> {
  const folder = makeDataFolder();
  const environment = environmentOf(folder.path, upstreamUrl, path.logLevel);
  const contenders: Contender[] = [];
  const start = async (
    argv: readonly string[],
    extra: Record<string, string>,
    requests: () => () => string,
  ) => {
    const server = await startServer(argv, { ...environment, ...extra }, '/healthz');
    const { connections, status } = path;
    const target = { port: server.port, connections, status };
    const contender = { server, target, next: requests() };
    contenders.push(contender);
    return contender;
  };
  try {
    const service = await start(SERVICE, {}, path.requests);
    const { head, body } = await ask(service.target, service.next());
    const sample = { SAMPLE: JSON.stringify(sampleOf(head, body)) };
    const other = await start(path.argv, sample, path.otherRequests ?? path.requests);
    for (const { target, next } of contenders) await saturate(target, next, plan.warmUpMs);
    return await measure(path, service, other, plan);
  } finally {
    for (const { server } of contenders) await server.end();
    folder.remove();
  }
}

async function measure(
  path: Path,
  service: Contender,
  other: Contender,
  plan: Plan,
): Promise<Comparison> {
  const ours: Slice[] = [];
  const theirs: Slice[] = [];
  for (let round = 0; round < plan.rounds; round += 1) {
    ours.push(await slice(service, plan.sliceMs));
    theirs.push(await slice(other, plan.sliceMs));
  }
  const loadedMb = service.server.residentMb();
  const sides = { service: summarize(ours), other: summarize(theirs) };
  if (path.paced && plan.pacedRounds > 0) {
    const perSecond = Math.min(sides.service.perSecond, sides.other.perSecond) / 2;
    const paced: [number[], number[]] = [[], []];
    for (let round = 0; round < plan.pacedRounds; round += 1) {
      for (const [index, { target, next }] of [service, other].entries()) {
        paced[index]?.push((await pace(target, next, perSecond, plan.sliceMs)).p99);
      }
    }
    sides.service.pacedP99 = median(paced[0]);
    sides.other.pacedP99 = median(paced[1]);
  }
  return { path, ratio: median(neighbours(ours, theirs)), loadedMb, ...sides };
}

type Slice = Measured & { busy: number };

async function slice({ target, server, next }: Contender, ms: number): Promise<Slice> {
  const cpuBefore = server.cpuMs();
  const before = performance.now();
  const measured = await saturate(target, next, ms);
  const busy = (server.cpuMs() - cpuBefore) / (performance.now() - before);
  return { ...measured, busy };
}

/** A1/B1, A2/B1, A2/B2, A3/B2, … */
function neighbours(ours: readonly Slice[], theirs: readonly Slice[]): number[] {
  return ours.flatMap((own, index) =>
    [theirs[index - 1], theirs[index]]
      .filter((neighbour) => neighbour !== undefined)
      .map((neighbour) => own.perSecond / neighbour.perSecond),
  );
}

function summarize(slices: readonly Slice[]): Side {
  const of = (key: keyof Slice) => median(slices.map((each) => each[key]));
  return { perSecond: of('perSecond'), p50: of('p50'), p99: of('p99'), busy: of('busy') };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
