import { expect, test } from 'vitest';
import { type Clock, systemClock } from '../../src/clock.ts';
import { openDrain } from '../../src/operations/drain.ts';

/** Drains with steps that write down when they begin and end; what waits is told in its order. */
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
      // The work ends after them.
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

test('readiness goes off, work ends beside the requests, and the parts close after both', async () => {
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

test('a proxy gets three seconds to notice before the port is closed', async () => {
  expect((await drained(true)).slice(1, 5)).toEqual([
    'work ends, refusing: false',
    'cuts in 14000 ms',
    'waits 3000 ms',
    'requests end, refusing: true',
  ]);
});
