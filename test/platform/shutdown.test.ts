import { expect, test } from 'vitest';
import { type Clock, systemClock } from '../../src/platform/clock.ts';
import { openDrain } from '../../src/platform/shutdown.ts';

/** Drains with steps that record their begin and end, and returns the records in order. */
async function drained(isWatched: boolean): Promise<string[]> {
  const told: string[] = [];
  const clock: Clock = {
    ...systemClock,
    sleep: async (ms) => void told.push(`waits ${ms} ms`),
    after: (ms) => {
      told.push(`cuts in ${ms} ms`);
      return () => void told.push('cuts nothing');
    },
  };
  const drain = openDrain(clock);
  expect([drain.isDraining(), drain.isRefusing()]).toEqual([false, false]);
  drain.onDraining(() => told.push(`draining: ${drain.isDraining()}`));
  let endWork = () => {};
  await drain.drain({
    isWatched,
    withinMs: 15_000,
    endWork: () => {
      told.push(`work ends, refusing: ${drain.isRefusing()}`);
      return new Promise((resolve) => {
        endWork = resolve;
      });
    },
    endRequests: async () => {
      told.push(`requests end, refusing: ${drain.isRefusing()}`);
      // The work ends after the requests.
      systemClock.turn().then(() => {
        told.push('work ended');
        endWork();
      });
    },
    cutRequests: () => {},
    closeParts: async () => void told.push('parts close'),
  });
  return told;
}

test('drain turns readiness off, ends work and requests in parallel, and closes the parts after both', async () => {
  expect(await drained(false)).toEqual([
    'draining: true',
    'work ends, refusing: false',
    'cuts in 14000 ms',
    'requests end, refusing: true',
    'cuts nothing',
    'work ended',
    'parts close',
  ]);
});

test('drain waits three seconds before it refuses requests if a proxy checks readiness', async () => {
  expect((await drained(true)).slice(1, 5)).toEqual([
    'work ends, refusing: false',
    'cuts in 14000 ms',
    'waits 3000 ms',
    'requests end, refusing: true',
  ]);
});
