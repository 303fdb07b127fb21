import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openInFlight } from '../../src/platform/in-flight.ts';

test('openInFlight returns the added entries that have not ended, whatever the order in which entries end', () => {
  const steps = fc.array(fc.oneof(fc.constant('begin' as const), fc.nat(20)), { maxLength: 60 });
  fc.assert(
    fc.property(steps, (taken) => {
      const underWay = openInFlight<number>();
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

test('openInFlight releases ended entries before they reach the old generation of the heap', () => {
  const underWay = openInFlight<number[]>();
  const ends: (() => void)[] = [];
  const request = (number: number) => {
    ends.push(underWay.add(new Array<number>(256).fill(number)));
    if (ends.length > 32) ends.shift()?.();
  };
  for (let number = 0; number < 100; number += 1) request(number);
  // Longer-lived objects are in the old generation from here on.
  collectEverything();
  const before = oldGenerationBytes();
  let most = 0;
  // About 40 MB are allocated and released.
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
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')?.space_used_size as number;
}
