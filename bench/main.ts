/**
 * `npm run bench` compares the service with bare servers and frameworks, by our own client and by `wrk`.
 *
 * - `--quick` ends within a minute. The exit status is 1 if a ratio is under half of the ratio in `expected.json`.
 * - `--only <text>` selects the paths whose name contains the text.
 * - `--against <commit>` compares with the service of that commit instead.
 * - `--soak <minutes>` shows whether memory grows under a steady load.
 */
import { readFileSync } from 'node:fs';
import { ExitFault, UsageFault } from '../src/commands/command-errors.ts';
import type { Call, Command } from '../src/commands/command-line.ts';
import { runCommand } from '../src/commands/command-line.ts';
import { checkOut } from './against.ts';
import { type Comparison, compare, type Other, type Plan } from './compare.ts';
import { type Path, paths } from './paths.ts';
import { pinLoad } from './processes.ts';
import { linesOf, tablesOf } from './report.ts';
import { soak } from './soak.ts';
import { measureStart, type Start } from './start.ts';
import { startUpstream } from './upstream.ts';
import { wrkIsInstalled } from './wrk.ts';

const FULL: Plan = {
  starts: 3,
  rounds: 30,
  sliceMs: 400,
  // V8 compiles the code of a bare server within 5 s of load, and the code of the service within 10 to 15 s.
  warmUpMs: 10_000,
  pacedRounds: 15,
  wrkRounds: 6,
  withoutDuties: true,
};
const QUICK: Plan = {
  starts: 1,
  rounds: 5,
  sliceMs: 200,
  warmUpMs: 400,
  pacedRounds: 0,
  wrkRounds: 0,
  withoutDuties: false,
};

/** A wide margin, because CI may run on any machine. A halved ratio fails. */
const SHARE_OF_EXPECTED = 0.5;

const command: Command = {
  invocation: 'npm run bench --',
  description: 'Loads the service and, in turn with it, bare servers and frameworks; prints what it saw.',
  examples: ['npm run bench', 'npm run bench -- --quick', 'npm run bench -- --only preview --against HEAD~1'],
  subcommands: {
    '': {
      description: 'every path, cold start and memory',
      operands: [],
      options: {
        '--quick': 'within a minute; status 1 where a ratio is halved',
        '--only TEXT': 'the paths whose name holds it',
        '--against COMMIT': 'the service of that commit instead',
        '--soak MINUTES': 'memory under a steady load instead',
      },
      run: bench,
    },
  },
};

const expected: Record<string, number> = JSON.parse(readFileSync(new URL('expected.json', import.meta.url), 'utf8'));

await runCommand(command, process.argv.slice(2));

async function bench(call: Call): Promise<void> {
  if (!pinLoad()) call.terminal.say('No second core to pin the load to: the ratios mean little.');
  const soakMinutes = Number(call.text('soak') ?? 0);
  if (!(soakMinutes >= 0)) throw new UsageFault('--soak must be a number of minutes.');
  const upstream = await startUpstream();
  try {
    if (soakMinutes > 0) await soak(upstream.url, soakMinutes, (line) => process.stdout.write(line));
    else await measureAll(upstream.url, call);
  } finally {
    upstream.close();
  }
}

async function measureAll(upstreamUrl: string, call: Call): Promise<void> {
  const { terminal } = call;
  const plan = call.flag('quick') ? QUICK : FULL;
  if (plan.wrkRounds > 0 && !wrkIsInstalled) terminal.say('wrk is not installed: its columns stay empty.');
  const commit = call.text('against');
  if (commit !== undefined) {
    const { other, remove } = checkOut(commit);
    try {
      print(call, await measurePaths(upstreamUrl, call, plan, other));
    } finally {
      remove();
    }
    return;
  }
  const comparisons = await measurePaths(upstreamUrl, call, plan);
  // Starts are measured only without `--only`.
  const start =
    call.text('only') === undefined
      ? await measureStart(call.flag('quick') ? 3 : 25, call.flag('quick') ? 0 : 120_000)
      : undefined;
  print(call, comparisons, start);
  judge(comparisons, start);
}

async function measurePaths(upstreamUrl: string, call: Call, plan: Plan, commit?: Other): Promise<Comparison[]> {
  const only = call.text('only') ?? '';
  const quick = call.flag('quick');
  const comparisons: Comparison[] = [];
  for (const path of commit === undefined ? paths : pathsFor(commit)) {
    if ((quick && !path.quick) || !path.name.includes(only)) continue;
    process.stderr.write(`${path.name} against ${commit?.against ?? path.against} …\n`);
    const comparison = await compare(path, upstreamUrl, plan, commit);
    comparisons.push(comparison);
    // The ratios are printed at once, so that a failure of a later path does not lose three quarters of an hour.
    const { ratios, byWrk } = comparison;
    process.stderr.write(`  ${JSON.stringify({ ratios, byWrk })}\n`);
  }
  return comparisons;
}

/**
 * Returns each path of the service once, because a path may be compared with several servers. Leaves out paths whose
 * rows, which today's code inserts, are of no use to the commit.
 */
function pathsFor({ sameSchema }: Other): Path[] {
  const once = [...Map.groupBy(paths, ({ name }) => name).values()].flatMap((same) => same.slice(0, 1));
  return once.filter(({ prepare }) => sameSchema || prepare === undefined);
}

function print({ terminal }: Call, comparisons: readonly Comparison[], start?: Start): void {
  const text = start === undefined ? '' : `\n\n${linesOf(start)}`;
  const report = terminal.json ? JSON.stringify({ comparisons, start }) : `${tablesOf(comparisons)}${text}`;
  for (const line of report.split('\n')) terminal.print(line);
}

/** Throws if a ratio is far below the expected ratio. */
function judge(comparisons: readonly Comparison[], start?: Start): void {
  const ratios = new Map(
    comparisons.filter(({ against }) => against === 'floor').map(({ path, ratios }) => [path.name, ratios.other]),
  );
  // A higher value of the cold start is worse, so its inverse is compared.
  if (start !== undefined) ratios.set('cold start', 1 / start.sources.ratio);
  const halved = [...ratios].filter(([name, ratio]) => ratio < (expected[name] ?? 0) * SHARE_OF_EXPECTED);
  if (halved.length === 0) return;
  const each = halved.map(([name, ratio]) => `${name}: ${ratio.toFixed(2)}`);
  throw new ExitFault(`Under half of what is expected: ${each.join(', ')}.`);
}
