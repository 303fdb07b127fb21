/**
 * `npm run sim`: seed after seed for a minute, or as `--minutes`, `--seeds` say, or to the first that breaks a
 * promise with `--stop`; `--seed` replays one and tells what happened. Ends with 1 where one was broken.
 */
import { fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import type { Call, Command } from '../src/commands/command.ts';
import { runCommand } from '../src/commands/command-line.ts';
import { ExitFault, UsageFault } from '../src/commands/faults.ts';
import { describe } from './report.ts';
import { simulate } from './run.ts';
import { addSums, emptySums, type Failure, type Sums } from './sums.ts';
import type { Work } from './work.ts';

/** Enough to see what fails; whoever mends it starts again. */
const FAILURES_MAXIMUM = 50;

const command: Command = {
  invocation: 'npm run sim --',
  meaning:
    'The real chains over a virtual clock, with crashes and faults; every promise is checked.',
  examples: [
    'npm run sim',
    'npm run sim -- --minutes 30',
    'npm run sim -- --seed 20261121-7',
    'npm run sim -- --base mine --seeds 1000 --stop',
  ],
  actions: {
    '': {
      meaning: 'seed after seed; status 1 where a promise was broken',
      operands: [],
      options: {
        minutes: { type: 'string', value: 'NUMBER', meaning: 'for how long, else 1' },
        seeds: { type: 'string', value: 'NUMBER', meaning: 'how many, instead' },
        base: { type: 'string', value: 'TEXT', meaning: 'what the seeds begin with' },
        seed: { type: 'string', value: 'SEED', meaning: 'this one alone, told as a trace' },
        stop: { type: 'boolean', meaning: 'ends at the first that breaks a promise' },
      },
      run: (call) => {
        const seed = call.text('seed');
        if (seed === undefined) return runAll(call);
        const others = ['minutes', 'seeds', 'base'].some((name) => call.text(name) !== undefined);
        if (others || call.flag('stop'))
          throw new UsageFault('--seed is one run: it takes no other.');
        return replay(seed);
      },
    },
  },
};

await runCommand(command, process.argv.slice(2));

async function replay(seed: string): Promise<void> {
  const { trace, violations } = await simulate(seed, true);
  process.stdout.write(`${trace.join('\n')}\n\n`);
  process.stdout.write(
    violations.length === 0 ? 'Every promise was kept.\n' : `${violations.join('\n')}\n`,
  );
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
  await Promise.all(
    Array.from({ length: workers }, (_, index) => work({ ...task, index }, sums, failures, stop)),
  );
  const minutes = (performance.now() - startedAt) / 60_000;
  process.stdout.write(describe(sums, failures, minutes));
  for (const { seed, violations } of failures.slice(0, 10)) {
    process.stderr.write(`${violations.join('\n')}\n  npm run sim -- --seed ${seed}\n`);
  }
  if (failures.length > 0) throw new ExitFault(`${failures.length} seeds broke a promise.`);
}

/** How much is run: so many seeds, or so many minutes. */
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

/** One worker process; what it found is added up, and may be enough for all. */
function work(task: Work, sums: Sums, failures: Failure[], stop: AbortController): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = fork(new URL('worker.ts', import.meta.url), { serialization: 'advanced' });
    worker.on('message', (found: { sums: Sums; failures: Failure[] }) => {
      addSums(sums, found.sums);
      failures.push(...found.failures);
      if (failures.length >= task.failures) stop.abort();
    });
    stop.signal.addEventListener('abort', () => {
      // One that has ended by itself can't be told any more.
      worker.send('stop', () => {});
    });
    worker.on('exit', (status) =>
      status === 0 ? resolve() : reject(new Error('A worker of the simulator failed.')),
    );
    worker.send(task);
  });
}
