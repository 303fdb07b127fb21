/**
 * `node bench/profile.ts preview` runs the service under the load of one path with a processor profile. The command
 * prints the frames with the highest self time.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepare } from './compare.ts';
import { saturate } from './load.ts';
import { paths } from './paths.ts';
import { pinLoad, startServer } from './processes.ts';
import { series } from './requests.ts';
import { environmentOf, makeDataFolder, SERVICE } from './service.ts';
import { startUpstream } from './upstream.ts';

const WARM_UP_MS = 3_000;
const MEASURE_MS = 10_000;
const FRAMES = 10;

type Profile = {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[];
  samples: number[];
  timeDeltas: number[];
};

const name = process.argv[2] ?? 'preview';
const path = paths.find((each) => each.name === name);
if (path === undefined) throw new Error(`There is no path ${name}.`);
pinLoad();
const upstream = await startUpstream();
const folder = makeDataFolder();
const profiles = mkdtempSync(join(tmpdir(), 'profile-'));
const argv = ['--cpu-prof', '--cpu-prof-dir', profiles, ...SERVICE];
const environment = {
  ...environmentOf(folder.path, upstream.url, path.logLevel),
  ...path.settings,
};
await prepare(path, folder.path);
const service = await startServer(argv, environment, '/healthz');
const target = { port: service.port, connections: path.connections, status: path.status };
const next = series(path.requests());
await saturate(target, next, WARM_UP_MS);
const { perSecond } = await saturate(target, next, MEASURE_MS);
await service.end('SIGTERM');
upstream.close();

const [file = ''] = readdirSync(profiles);
const profile: Profile = JSON.parse(readFileSync(join(profiles, file), 'utf8'));
const frames = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]));
const times = new Map<string, number>();
let total = 0;
for (const [index, id] of profile.samples.entries()) {
  const frame = frames.get(id);
  if (frame === undefined || /^\((?:idle|program|root)\)$/.test(frame.functionName)) continue;
  const ms = (profile.timeDeltas[index] ?? 0) / 1000;
  const source = frame.url.replace(/^.*\/(?=node_modules|src)/, '');
  const label = `${frame.functionName || '(anonymous)'} ${source}${source && `:${frame.lineNumber + 1}`}`;
  times.set(label, (times.get(label) ?? 0) + ms);
  total += ms;
}
const heaviest = [...times].sort(([, a], [, b]) => b - a).slice(0, Number(process.argv[3] ?? FRAMES));
const lines = heaviest.map(([label, ms]) => `${((ms / total) * 100).toFixed(1).padStart(5)} %  ${label}`);
process.stdout.write(`${name}, ${perSecond.toFixed(0)} a second\n${lines.join('\n')}\n`);
rmSync(profiles, { recursive: true });
folder.remove();
process.exit();
