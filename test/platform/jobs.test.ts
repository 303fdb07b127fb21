import { expect, test } from 'vitest';
import { type Clock, systemClock } from '../../src/platform/clock.ts';
import { openJob } from '../../src/platform/jobs.ts';

/** Opens a job whose runs end on demand, on a clock whose timers fire on demand. */
function underTest(options: { repeatsFailures?: boolean; runsAtClose?: boolean } = {}) {
  const timers: { ms: number; callback: () => void }[] = [];
  const runs: (PromiseWithResolvers<number> & { signal: AbortSignal })[] = [];
  const seen: unknown[] = [];
  const clock: Clock = {
    ...systemClock,
    after: (ms, callback) => {
      const timer = { ms, callback };
      timers.push(timer);
      return () => void timers.splice(timers.indexOf(timer), 1);
    },
  };
  const job = openJob({
    clock,
    firstAfterMs: 5,
    everyMs: 60,
    work: (signal) => {
      const run = Promise.withResolvers<number>();
      runs.push({ ...run, signal });
      return run.promise;
    },
    done: (result) => void seen.push(result),
    failed: (error) => void seen.push((error as Error).message),
    ...options,
  });
  return {
    job,
    runs,
    seen,
    timers,
    tick: () => {
      const timer = timers.shift();
      timer?.callback();
      return timer?.ms;
    },
  };
}

const fault = new Error('away');

test('a job runs after the first delay, then at each interval, and never twice at the same time', async () => {
  const { job, runs, tick, timers } = underTest();
  job.start();
  job.start();
  expect(timers).toHaveLength(1);
  expect([tick(), tick(), tick()]).toEqual([5, 60, 60]);
  expect(runs).toHaveLength(1);
  runs[0]?.resolve(1);
  await systemClock.turn();
  tick();
  expect(runs).toHaveLength(2);
});

test.each([
  [false, ['away', 1, 'away']],
  [true, ['away', 'away', 1, 'away']],
])('a job reports a second failure in a row only with repeatsFailures=true (%s)', async (repeatsFailures, expected) => {
  const { job, runs, seen } = underTest({ repeatsFailures });
  for (const fails of [true, true, false, true]) {
    const running = job.run();
    if (fails) runs.at(-1)?.reject(fault);
    else runs.at(-1)?.resolve(1);
    await running;
  }
  expect(seen).toEqual(expected);
});

test('a job runs once more for all requests that arrive during a run', async () => {
  const { job, runs } = underTest();
  for (let n = 0; n < 3; n += 1) job.soon();
  expect(runs).toHaveLength(1);
  runs[0]?.resolve(1);
  await systemClock.turn();
  expect(runs).toHaveLength(2);
  runs[1]?.resolve(1);
  await systemClock.turn();
  expect(runs).toHaveLength(2);
});

test.each([
  [false, 1],
  [true, 2],
])(
  'a job waits for the running work on close, and runs once more only with runsAtClose=true (%s)',
  async (runsAtClose, expected) => {
    const { job, runs, timers } = underTest({ runsAtClose });
    job.start();
    job.soon();
    job.soon();
    let closed = false;
    const closing = job.close().then(() => {
      closed = true;
    });
    await systemClock.turn();
    expect([closed, timers, runs.length, runs[0]?.signal.aborted]).toEqual([false, [], 1, true]);
    runs[0]?.resolve(1);
    await systemClock.turn();
    runs[1]?.reject(fault);
    await closing;
    await job.run();
    job.soon();
    expect(runs).toHaveLength(expected);
  },
);

test('a job without options reports the first of several failures, and does not run at its close', async () => {
  const reported: unknown[] = [];
  let runs = 0;
  const work = () => {
    runs += 1;
    return Promise.reject(fault);
  };
  const job = openJob({ clock: systemClock, everyMs: 60, work, failed: (error) => void reported.push(error) });
  for (let times = 1; times <= 2; times += 1) await job.run();
  await job.close();
  expect([runs, reported]).toEqual([2, [fault]]);
});

test('a job that tells nobody about its failures survives them, and can be closed before its start', async () => {
  const job = openJob({ clock: systemClock, everyMs: 60, work: () => Promise.reject(fault) });
  await expect(job.run()).resolves.toBeUndefined();
  await expect(job.close()).resolves.toBeUndefined();
});
