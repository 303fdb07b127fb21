import { expect, test } from 'vitest';
import { within } from '../../src/submissions/persist.ts';
import { testClock } from '../support/clock.ts';

/** Returns a clock whose timers fire on demand. */
function pausedClock() {
  const clock = testClock();
  const timers: (() => void)[] = [];
  clock.after = (_ms, callback) => {
    timers.push(callback);
    return () => void timers.splice(timers.indexOf(callback), 1);
  };
  const fireAfter = (ms: number) => {
    clock.advance(ms);
    timers.shift()?.();
  };
  return { clock, fireAfter };
}

test('within returns undefined if the store does not answer for two seconds', async () => {
  const { clock, fireAfter } = pausedClock();
  const waiting = within(clock, new Promise<string>(() => {}));
  fireAfter(2_499);
  expect(await waiting).toBe(undefined);
});

test('within restarts its wait of two seconds for the store after a pause of the process', async () => {
  const { clock, fireAfter } = pausedClock();
  const store = Promise.withResolvers<string>();
  const waiting = within(clock, store.promise);
  fireAfter(20_000);
  store.resolve('written');
  expect(await waiting).toBe('written');
  const another = within(clock, new Promise<string>(() => {}));
  fireAfter(2_500);
  fireAfter(2_000);
  expect(await another).toBe(undefined);
});
