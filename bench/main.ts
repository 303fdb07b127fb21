/**
 * `npm run bench`: the service against bare servers and frameworks, one table.
 * `--quick` ends within a minute, and with status 1 where a ratio is under half of what
 * `expected.json` records; `--only <text>` takes the paths whose name holds it; `--soak <minutes>`
 * shows instead whether memory grows under a steady load.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type Comparison, compare, type Plan } from './compare.ts';
import { paths } from './paths.ts';
import { pinLoad } from './processes.ts';
import { tableOf } from './report.ts';
import { soak } from './soak.ts';
import { measureStart } from './start.ts';
import { startUpstream } from './upstream.ts';

const FULL: Plan = { rounds: 5, sliceMs: 2_000, warmUpMs: 2_000, pacedRounds: 3 };
const QUICK: Plan = { rounds: 5, sliceMs: 200, warmUpMs: 400, pacedRounds: 0 };

/** Wide, for whatever machine CI has: what halves a ratio fails. */
const SHARE_OF_EXPECTED = 0.5;

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    soak: { type: 'string', default: '0' },
  },
});
const { quick, only } = values;
const soakMinutes = Number(values.soak);
const expected: Record<string, number> = JSON.parse(
  readFileSync(new URL('expected.json', import.meta.url), 'utf8'),
);

if (!pinLoad())
  process.stderr.write('No second core to pin the load to: the ratios mean little.\n');
const upstream = await startUpstream();
if (soakMinutes > 0) await soak(upstream.url, soakMinutes, (line) => process.stdout.write(line));
else await measureAll();
upstream.close();

async function measureAll(): Promise<void> {
  const comparisons: Comparison[] = [];
  for (const path of paths) {
    if ((quick && !path.quick) || !path.name.includes(only)) continue;
    process.stderr.write(`${path.name} against ${path.against} …\n`);
    comparisons.push(await compare(path, upstream.url, quick ? QUICK : FULL));
  }
  const start = await measureStart(quick ? 3 : 15, quick ? 500 : 5_000);
  process.stdout.write(tableOf(comparisons, start));

  const ratios = new Map(
    comparisons
      .filter(({ path }) => path.against === 'floor')
      .map(({ path, ratio }) => [path.name, ratio]),
  );
  // Here more is worse: its inverse is compared.
  ratios.set('cold start', 1 / start.ratio);
  for (const [name, ratio] of ratios) {
    const least = (expected[name] ?? 0) * SHARE_OF_EXPECTED;
    if (ratio >= least) continue;
    process.stderr.write(`${name}: ${ratio.toFixed(2)} is under half of what is expected.\n`);
    process.exitCode = 1;
  }
}
