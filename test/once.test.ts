import { expect, test } from 'vitest';
import { keepingLast, once } from '../src/once.ts';

/** Fails at its first call, and counts. */
function failingFirst<T>(fail: () => T, succeed: () => T) {
  const calls = { count: 0 };
  const make = () => {
    calls.count += 1;
    return calls.count === 1 ? fail() : succeed();
  };
  return { calls, make };
}

test('a value is made when it is first asked for, and kept', () => {
  let count = 0;
  const read = once(() => {
    count += 1;
    return { count };
  });
  expect(count).toBe(0);
  expect(read()).toBe(read());
  expect(count).toBe(1);
});

test('what is thrown is not kept: the next who asks tries again', () => {
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

test('a promise that fails is not kept; those who waited for it hear of it', async () => {
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

test('the last result is kept, and no other', () => {
  const asked: number[] = [];
  const halve = keepingLast((of: number) => {
    asked.push(of);
    return of / 2;
  });
  expect([halve(4), halve(4), halve(6), halve(4)]).toEqual([2, 2, 3, 2]);
  expect(asked).toEqual([4, 6, 4]);
});
