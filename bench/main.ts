/**
 * `npm run bench`: the service against bare servers and frameworks, by our own client and by `wrk`.
 * `--quick` ends within a minute, and with status 1 where a ratio is under half of what
 * `expected.json` records; `--only <text>` takes the paths whose name holds it; `--against <commit>`
 * measures against the service of that commit instead, and `--soak <minutes>` shows whether memory grows
 * under a steady load.
 */
import { readFileSync } from 'node:fs';
import type { Call, Command } from '../src/commands/command.ts';
import { runCommand } from '../src/commands/command-line.ts';
import { ExitFault, UsageFault } from '../src/commands/faults.ts';
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
  rounds: 25,
  sliceMs: 400,
  // V8 compiles what a bare server runs within 5 s of load, and what the service runs within 10 to 15.
  warmUpMs: 10_000,
  pacedRounds: 15,
  wrkRounds: 5,
  withoutDuties: true,
};
const QUICK: Plan = {
  rounds: 5,
  sliceMs: 200,
  warmUpMs: 400,
  pacedRounds: 0,
  wrkRounds: 0,
  withoutDuties: false,
};

/** Wide, for whatever machine CI has: what halves a ratio fails. */
const SHARE_OF_EXPECTED = 0.5;

const command: Command = {
  invocation: 'npm run bench --',
  meaning:
    'Loads the service and, in turn with it, bare servers and frameworks; prints what it saw.',
  examples: [
    'npm run bench',
    'npm run bench -- --quick',
    'npm run bench -- --only preview --against HEAD~1',
  ],
  actions: {
    '': {
      meaning: 'every path, cold start and memory',
      operands: [],
      options: {
        quick: { type: 'boolean', meaning: 'within a minute; status 1 where a ratio is halved' },
        only: { type: 'string', value: 'TEXT', meaning: 'the paths whose name holds it' },
        against: { type: 'string', value: 'COMMIT', meaning: 'the service of that commit instead' },
        soak: { type: 'string', value: 'MINUTES', meaning: 'memory under a steady load instead' },
      },
      run: bench,
    },
  },
};

const expected: Record<string, number> = JSON.parse(
  readFileSync(new URL('expected.json', import.meta.url), 'utf8'),
);

await runCommand(command, process.argv.slice(2));

async function bench(call: Call): Promise<void> {
  if (!pinLoad()) call.terminal.say('No second core to pin the load to: the ratios mean little.');
  const soakMinutes = Number(call.text('soak') ?? 0);
  if (!(soakMinutes >= 0)) throw new UsageFault('--soak must be a number of minutes.');
  const upstream = await startUpstream();
  try {
    if (soakMinutes > 0)
      await soak(upstream.url, soakMinutes, (line) => process.stdout.write(line));
    else await measureAll(upstream.url, call);
  } finally {
    upstream.close();
  }
}

async function measureAll(upstreamUrl: string, call: Call): Promise<void> {
  const { terminal } = call;
  const plan = call.flag('quick') ? QUICK : FULL;
  if (plan.wrkRounds > 0 && !wrkIsInstalled)
    terminal.say('wrk is not installed: its columns stay empty.');
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
  // Whoever names a path does not wait for the start.
  const start =
    call.text('only') === undefined
      ? await measureStart(call.flag('quick') ? 3 : 25, call.flag('quick') ? 0 : 120_000)
      : undefined;
  print(call, comparisons, start);
  judge(comparisons, start);
}

async function measurePaths(
  upstreamUrl: string,
  call: Call,
  plan: Plan,
  commit?: Other,
): Promise<Comparison[]> {
  const only = call.text('only') ?? '';
  const quick = call.flag('quick');
  const comparisons: Comparison[] = [];
  for (const path of commit === undefined ? paths : eachOnce()) {
    if ((quick && !path.quick) || !path.name.includes(only)) continue;
    process.stderr.write(`${path.name} against ${commit?.against ?? path.against} …\n`);
    const comparison = await compare(path, upstreamUrl, plan, commit);
    comparisons.push(comparison);
    // Said at once: should a later path fail, three quarters of an hour are not lost.
    const { ratios, byWrk } = comparison;
    process.stderr.write(`  ${JSON.stringify({ ratios, byWrk })}\n`);
  }
  return comparisons;
}

/** What is measured against several servers is one path of the service. */
function eachOnce(): Path[] {
  return [...Map.groupBy(paths, ({ name }) => name).values()].flatMap((same) => same.slice(0, 1));
}

function print({ terminal }: Call, comparisons: readonly Comparison[], start?: Start): void {
  const text = start === undefined ? '' : `\n\n${linesOf(start)}`;
  terminal.print(
    terminal.json ? JSON.stringify({ comparisons, start }) : `${tablesOf(comparisons)}${text}`,
  );
}

/** Fails where a ratio is far below what is expected. */
function judge(comparisons: readonly Comparison[], start?: Start): void {
  const ratios = new Map(
    comparisons
      .filter(({ against }) => against === 'floor')
      .map(({ path, ratios }) => [path.name, ratios.other]),
  );
  // Here more is worse: its inverse is compared.
  if (start !== undefined) ratios.set('cold start', 1 / start.ratio);
  const halved = [...ratios].filter(
    ([name, ratio]) => ratio < (expected[name] ?? 0) * SHARE_OF_EXPECTED,
  );
  if (halved.length === 0) return;
  const each = halved.map(([name, ratio]) => `${name}: ${ratio.toFixed(2)}`);
  throw new ExitFault(`Under half of what is expected: ${each.join(', ')}.`);
}
