import { expect, test } from 'vitest';
import { within } from '../../src/submissions/keep.ts';
import { testClock } from '../support/clock.ts';

/** A clock whose timers fire when they are told to. */
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

test('a store that does not answer for two seconds counts as away', async () => {
  const { clock, fireAfter } = pausedClock();
  const waiting = within(clock, new Promise<string>(() => {}));
  fireAfter(2_499);
  expect(await waiting).toBe(undefined);
});

test('a pause of this process is not the store’s: its two seconds begin anew', async () => {
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
