/**
 * `npm run sim`: seed after seed for a minute, or as `--minutes`, `--seeds` say, or to the first that breaks a
 * promise with `--stop`; `--seed` replays one and tells what happened. Ends with 1 where one was broken.
 */
import { fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { describe } from './report.ts';
import { simulate } from './run.ts';
import { addSums, emptySums, type Failure, type Sums } from './sums.ts';
import type { Work } from './work.ts';

/** Enough to see what fails; whoever mends it starts again. */
const FAILURES_MAXIMUM = 50;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    seeds: { type: 'string' },
    base: { type: 'string', default: `${Date.now() % 10_000_000}` },
    seed: { type: 'string' },
    stop: { type: 'boolean', default: false },
  },
});

if (values.seed !== undefined) await replay(values.seed);
else await runAll();

async function replay(seed: string): Promise<void> {
  const { trace, violations } = await simulate(seed, true);
  process.stdout.write(`${trace.join('\n')}\n\n`);
  process.stdout.write(
    violations.length === 0 ? 'Every promise was kept.\n' : `${violations.join('\n')}\n`,
  );
  if (violations.length > 0) process.exitCode = 1;
}

async function runAll(): Promise<void> {
  const workers = availableParallelism();
  const startedAt = performance.now();
  const sums = emptySums();
  const failures: Failure[] = [];
  const stop = new AbortController();
  await Promise.all(
    Array.from({ length: workers }, (_, index) =>
      work({ base: values.base, index, workers, ...extent() }, sums, failures, stop),
    ),
  );
  const minutes = (performance.now() - startedAt) / 60_000;
  process.stdout.write(describe(sums, failures, minutes));
  for (const { seed, violations } of failures.slice(0, 10)) {
    process.stderr.write(`${violations.join('\n')}\n  npm run sim -- --seed ${seed}\n`);
  }
  if (failures.length > 0) process.exitCode = 1;
}

/** How much is run: so many seeds, or so many minutes. */
function extent(): Pick<Work, 'seeds' | 'minutes' | 'failures'> {
  const { seeds, minutes } = values;
  return {
    seeds: seeds === undefined ? Number.POSITIVE_INFINITY : Number(seeds),
    minutes: seeds === undefined ? Number(minutes) : Number.POSITIVE_INFINITY,
    failures: values.stop ? 1 : FAILURES_MAXIMUM,
  };
}

/** One worker process; what it found is added up, and may be enough for all. */
function work(task: Work, sums: Sums, failures: Failure[], stop: AbortController): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = fork(new URL('worker.ts', import.meta.url), { serialization: 'advanced' });
    worker.on('message', (found: { sums: Sums; failures: Failure[] }) => {
      addSums(sums, found.sums);
      failures.push(...found.failures);
      if (values.stop && found.failures.length > 0) stop.abort();
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
