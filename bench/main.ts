/**
 * `npm run bench`: the service against bare servers and frameworks, one table.
 * `--quick` ends within a minute, and with status 1 where a ratio is under half of what
 * `expected.json` records; `--only <text>` takes the paths whose name holds it; `--soak <minutes>`
 * shows instead whether memory grows under a steady load.
 */
import { readFileSync } from 'node:fs';
import type { Call, Command } from '../src/commands/command.ts';
import { runCommand } from '../src/commands/command-line.ts';
import { ExitFault, UsageFault } from '../src/commands/faults.ts';
import { type Comparison, compare, type Plan } from './compare.ts';
import { paths } from './paths.ts';
import { pinLoad } from './processes.ts';
import { tableOf } from './report.ts';
import { soak } from './soak.ts';
import { measureStart } from './start.ts';
import { startUpstream } from './upstream.ts';

const FULL: Plan = { rounds: 25, sliceMs: 400, warmUpMs: 2_000, pacedRounds: 15 };
const QUICK: Plan = { rounds: 5, sliceMs: 200, warmUpMs: 400, pacedRounds: 0 };

/** Wide, for whatever machine CI has: what halves a ratio fails. */
const SHARE_OF_EXPECTED = 0.5;

const command: Command = {
  invocation: 'npm run bench --',
  meaning: 'Loads the service and, in turn with it, bare servers and frameworks; prints one table.',
  examples: ['npm run bench', 'npm run bench -- --quick', 'npm run bench -- --only preview'],
  actions: {
    '': {
      meaning: 'every path, cold start and memory',
      operands: [],
      options: {
        quick: { type: 'boolean', meaning: 'within a minute; status 1 where a ratio is halved' },
        only: { type: 'string', value: 'TEXT', meaning: 'the paths whose name holds it' },
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
  const quick = call.flag('quick');
  const only = call.text('only') ?? '';
  const comparisons: Comparison[] = [];
  for (const path of paths) {
    if ((quick && !path.quick) || !path.name.includes(only)) continue;
    process.stderr.write(`${path.name} against ${path.against} …\n`);
    comparisons.push(await compare(path, upstreamUrl, quick ? QUICK : FULL));
  }
  const start = await measureStart(quick ? 3 : 25, quick ? 0 : 120_000);
  const { terminal } = call;
  terminal.print(
    terminal.json ? JSON.stringify({ comparisons, start }) : tableOf(comparisons, start).trimEnd(),
  );

  const ratios = new Map(
    comparisons
      .filter(({ path }) => path.against === 'floor')
      .map(({ path, ratio }) => [path.name, ratio]),
  );
  // Here more is worse: its inverse is compared.
  ratios.set('cold start', 1 / start.ratio);
  const halved = [...ratios].filter(
    ([name, ratio]) => ratio < (expected[name] ?? 0) * SHARE_OF_EXPECTED,
  );
  if (halved.length === 0) return;
  const each = halved.map(([name, ratio]) => `${name}: ${ratio.toFixed(2)}`);
  throw new ExitFault(`Under half of what is expected: ${each.join(', ')}.`);
}
