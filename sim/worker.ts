/** Runs the seeds of one worker, and sends the results to the main process. */
import process from 'node:process';
import { setImmediate } from 'node:timers/promises';
import { simulate } from './run.ts';
import { addRun, emptySums, type Failure } from './sums.ts';
import type { Work } from './work.ts';

// Runs create many errors, and nothing reads their stack traces.
Error.stackTraceLimit = 0;

let stopped = false;

process.on('message', (message: Work | 'stop') => {
  if (message === 'stop') stopped = true;
  else void work(message);
});

async function work({ base, index, workers, seeds, minutes, failures: most }: Work): Promise<void> {
  const deadline = performance.now() + minutes * 60_000;
  const sums = emptySums();
  const failures: Failure[] = [];
  for (let number = index; number < seeds && performance.now() < deadline; number += workers) {
    const seed = `${base}-${number}`;
    const finished = await simulate(seed, false);
    addRun(sums, finished);
    // A run blocks the real event loop. This turn lets a `stop` message arrive.
    await setImmediate();
    const { violations } = finished;
    if (violations.length > 0) failures.push({ seed, violations });
    if (stopped || failures.length >= most) break;
  }
  process.send?.({ sums, failures }, () => process.disconnect?.());
}
