import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openUnderWay } from '../../src/operations/under-way.ts';

test('what was taken in and not out again is under way, in whatever order things end', () => {
  const steps = fc.array(fc.oneof(fc.constant('begin' as const), fc.nat(20)), { maxLength: 60 });
  fc.assert(
    fc.property(steps, (taken) => {
      const underWay = openUnderWay<number>();
      const standing = new Map<number, () => void>();
      for (const [number, step] of taken.entries()) {
        if (step === 'begin') {
          standing.set(number, underWay.add(number));
          continue;
        }
        const [ending, end] = [...standing][step] ?? [];
        end?.();
        if (ending !== undefined) standing.delete(ending);
      }
      expect(underWay.all().sort((a, b) => a - b)).toEqual([...standing.keys()]);
    }),
  );
});

test('what has ended leaves nothing behind that only the old generation would collect', () => {
  const underWay = openUnderWay<number[]>();
  const ends: (() => void)[] = [];
  const request = (number: number) => {
    ends.push(underWay.add(new Array<number>(256).fill(number)));
    if (ends.length > 32) ends.shift()?.();
  };
  for (let number = 0; number < 100; number += 1) request(number);
  // Whatever keeps them is old from here on.
  collectEverything();
  const before = oldGenerationBytes();
  let most = 0;
  // Some 40 MB come and go.
  for (let number = 0; number < 20_000; number += 1) {
    request(number);
    most = Math.max(most, oldGenerationBytes() - before);
  }
  expect(most).toBeLessThan(8 * 1024 * 1024);
});

function collectEverything(): void {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  setFlagsFromString('--no-expose-gc');
}

function oldGenerationBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')
    ?.space_used_size as number;
}
