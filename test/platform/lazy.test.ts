import { expect, test } from 'vitest';
import { memoizeLast, once } from '../../src/platform/lazy.ts';

/** Returns a function that fails on its first call, and a counter of calls. */
function failingFirst<T>(fail: () => T, succeed: () => T) {
  const calls = { count: 0 };
  const make = () => {
    calls.count += 1;
    return calls.count === 1 ? fail() : succeed();
  };
  return { calls, make };
}

test('once makes a value on the first call and returns the same one later', () => {
  let count = 0;
  const read = once(() => {
    count += 1;
    return { count };
  });
  expect(count).toBe(0);
  expect(read()).toBe(read());
  expect(count).toBe(1);
});

test('once calls its function again after that function threw an error', () => {
  const { calls, make } = failingFirst(
    () => {
      throw new Error('not yet');
    },
    () => 'made',
  );
  const read = once(make);
  expect(read).toThrow('not yet');
  expect([read(), read(), calls.count]).toEqual(['made', 'made', 2]);
});

test('once() rejects all waiting callers if the promise is rejected, and the next call runs the function again', async () => {
  const { calls, make } = failingFirst(
    () => Promise.reject(new Error('not yet')),
    () => Promise.resolve('made'),
  );
  const read = once(make);
  const [one, other] = [read(), read()];
  await expect(one).rejects.toThrow('not yet');
  await expect(other).rejects.toThrow('not yet');
  expect([await read(), await read(), calls.count]).toEqual(['made', 'made', 2]);
});

test('memoizeLast stores only the last result', () => {
  const asked: number[] = [];
  const halve = memoizeLast((of: number) => {
    asked.push(of);
    return of / 2;
  });
  expect([halve(4), halve(4), halve(6), halve(4)]).toEqual([2, 2, 3, 2]);
  expect(asked).toEqual([4, 6, 4]);
});
