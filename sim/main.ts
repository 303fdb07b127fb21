/**
 * `npm run sim` runs seed after seed for one minute, or as `--minutes` and `--seeds` say. `--stop` ends at the first
 * seed that breaks an invariant. `--seed` replays one seed and prints its trace. The exit status is 1 if an invariant
 * was broken.
 */
import { fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { ExitFault, UsageFault } from '../src/commands/command-errors.ts';
import type { Call, Command } from '../src/commands/command-line.ts';
import { runCommand } from '../src/commands/command-line.ts';
import { describe } from './report.ts';
import { simulate } from './run.ts';
import { addSums, emptySums, type Failure, type Sums } from './sums.ts';
import type { Work } from './work.ts';

/** Number of failures that ends the simulation. So many failures are enough to find the cause. */
const FAILURES_MAXIMUM = 50;

const command: Command = {
  invocation: 'npm run sim --',
  description: 'The real chains over a virtual clock, with crashes and faults; every promise is checked.',
  examples: [
    'npm run sim',
    'npm run sim -- --minutes 30',
    'npm run sim -- --seed 20261121-7',
    'npm run sim -- --base mine --seeds 1000 --stop',
  ],
  subcommands: {
    '': {
      description: 'seed after seed; status 1 where a promise was broken',
      operands: [],
      options: {
        '--minutes NUMBER': 'for how long, else 1',
        '--seeds NUMBER': 'how many, instead',
        '--base TEXT': 'what the seeds begin with',
        '--seed SEED': 'this one alone, told as a trace',
        '--stop': 'ends at the first that breaks a promise',
      },
      run: (call) => {
        const seed = call.text('seed');
        if (seed === undefined) return runAll(call);
        const others = ['minutes', 'seeds', 'base'].some((name) => call.text(name) !== undefined);
        if (others || call.flag('stop')) throw new UsageFault('--seed is one run: it takes no other.');
        return replay(seed);
      },
    },
  },
};

await runCommand(command, process.argv.slice(2));

async function replay(seed: string): Promise<void> {
  const { trace, violations } = await simulate(seed, true);
  process.stdout.write(`${trace.join('\n')}\n\n`);
  process.stdout.write(violations.length === 0 ? 'Every promise was kept.\n' : `${violations.join('\n')}\n`);
  if (violations.length > 0) throw new ExitFault('A promise was broken.');
}

async function runAll(call: Call): Promise<void> {
  const workers = availableParallelism();
  const startedAt = performance.now();
  const sums = emptySums();
  const failures: Failure[] = [];
  const stop = new AbortController();
  const base = call.text('base') ?? `${Date.now() % 10_000_000}`;
  const task = { base, workers, ...extentOf(call) };
  await Promise.all(Array.from({ length: workers }, (_, index) => work({ ...task, index }, sums, failures, stop)));
  const minutes = (performance.now() - startedAt) / 60_000;
  process.stdout.write(describe(sums, failures, minutes));
  for (const { seed, violations } of failures.slice(0, 10)) {
    process.stderr.write(`${violations.join('\n')}\n  npm run sim -- --seed ${seed}\n`);
  }
  if (failures.length > 0) throw new ExitFault(`${failures.length} seeds broke a promise.`);
}

/** Returns the number of seeds or minutes to run, and the number of failures that ends the simulation. */
function extentOf(call: Call): Pick<Work, 'seeds' | 'minutes' | 'failures'> {
  const seeds = call.text('seeds');
  const amount = Number(seeds ?? call.text('minutes') ?? 1);
  if (!(amount > 0)) throw new UsageFault('--minutes and --seeds take a number over 0.');
  return {
    seeds: seeds === undefined ? Number.POSITIVE_INFINITY : amount,
    minutes: seeds === undefined ? amount : Number.POSITIVE_INFINITY,
    failures: call.flag('stop') ? 1 : FAILURES_MAXIMUM,
  };
}

/** Runs one worker process and adds its results. Stops all workers after enough failures. */
function work(task: Work, sums: Sums, failures: Failure[], stop: AbortController): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = fork(new URL('worker.ts', import.meta.url), { serialization: 'advanced' });
    worker.on('message', (found: { sums: Sums; failures: Failure[] }) => {
      addSums(sums, found.sums);
      failures.push(...found.failures);
      if (failures.length >= task.failures) stop.abort();
    });
    stop.signal.addEventListener('abort', () => {
      // The send fails if the worker has already exited. The callback ignores this error.
      worker.send('stop', () => {});
    });
    worker.on('exit', (status) => (status === 0 ? resolve() : reject(new Error('A worker of the simulator failed.'))));
    worker.send(task);
  });
}
