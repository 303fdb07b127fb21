import { expect, test } from 'vitest';
import { openRecovery, RECOVER_EVERY_MS } from '../../src/actions/recovery.ts';
import { type Clock, systemClock } from '../../src/platform/clock.ts';
import type { Log } from '../../src/platform/log.ts';

/** Returns a recovery whose sweeps and timers end when the test says so. */
function underTest() {
  const timers: { ms: number; callback: () => void }[] = [];
  const sweeps: { end(count: number): void; fail(error: Error): void }[] = [];
  const logged: [string, string, object][] = [];
  let submissionsSwept = 0;
  const clock: Clock = {
    ...systemClock,
    after: (ms, callback) => {
      const timer = { ms, callback };
      timers.push(timer);
      return () => void timers.splice(timers.indexOf(timer), 1);
    },
  };
  const say = (level: string) => (entry: object, message: string) => {
    logged.push([level, message, entry]);
  };
  const recovery = openRecovery({
    executions: {
      settleExpired: () =>
        new Promise((end, fail) => {
          sweeps.push({ end, fail });
        }),
    },
    submissions: { settleExpired: async () => submissionsSwept++ },
    clock,
    log: { warn: say('warn'), error: say('error') } as unknown as Log,
  });
  const timeout = () => {
    const timer = timers.shift();
    timer?.callback();
    return timer?.ms;
  };
  return { recovery, timers, sweeps, logged, timeout, submissionsSwept: () => submissionsSwept };
}

test('settles expired claims every five seconds, one sweep at a time, also after a failed sweep', async () => {
  const { recovery, sweeps, logged, timeout, submissionsSwept } = underTest();
  recovery.start();
  expect([timeout(), timeout()]).toEqual([RECOVER_EVERY_MS, RECOVER_EVERY_MS]);
  expect(sweeps).toHaveLength(1);
  const away = new Error('The store is away.');
  sweeps[0]?.fail(away);
  await systemClock.turn();
  timeout();
  expect(sweeps).toHaveLength(2);
  sweeps[1]?.end(2);
  await systemClock.turn();
  expect(logged).toEqual([
    ['error', 'expired executions not settled', { err: away }],
    ['warn', 'expired executions settled', { count: 2 }],
    ['warn', 'expired submissions settled', { count: 1 }],
  ]);
  // Submissions are settled also if the sweep of the executions failed (reference §10.6).
  expect(submissionsSwept()).toBe(2);
});

test('close waits for the running sweep and starts no other sweep', async () => {
  const { recovery, timers, sweeps } = underTest();
  recovery.start();
  void recovery.run();
  let closed = false;
  const closing = recovery.close().then(() => {
    closed = true;
  });
  await systemClock.turn();
  expect([closed, timers]).toEqual([false, []]);
  sweeps[0]?.end(0);
  await closing;
  await recovery.run();
  expect(sweeps).toHaveLength(1);
});
