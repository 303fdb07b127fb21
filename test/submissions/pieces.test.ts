import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { Storage } from '../../src/storage/database.ts';
import { inTurn } from '../../src/submissions/pieces.ts';

/** A clock on which each turn takes a millisecond, and which counts them. */
function slowClock() {
  let now = 0;
  let turns = 0;
  return {
    turns: () => turns,
    pass: (ms: number) => {
      now += ms;
    },
    clock: {
      monotonic: () => now,
      turn: async () => {
        now += 1;
        turns += 1;
      },
    },
  };
}

/** Another one for each test: it stands for a store, and nothing is asked of it. */
const aStore = () => ({ kind: 'sqlite' }) as Storage;

describe('pieces of long looks', () => {
  test('are run one after the other, in the order in which they were asked for', async () => {
    const reading = { storage: aStore(), clock: slowClock().clock };
    const seen: string[] = [];
    const piece = (name: string) => () =>
      inTurn(reading, async () => {
        seen.push(`${name} begins`);
        await systemClock.turn();
        seen.push(`${name} ends`);
      });
    await Promise.all(['one', 'two', 'three'].map((name) => piece(name)()));
    expect(seen).toEqual([
      'one begins',
      'one ends',
      'two begins',
      'two ends',
      'three begins',
      'three ends',
    ]);
  });

  test('of another store wait for none of these', async () => {
    const { clock } = slowClock();
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
    const first = inTurn({ storage: aStore(), clock }, () => held);
    await inTurn({ storage: aStore(), clock }, async () => {});
    letGo();
    await first;
  });

  test('a piece that fails says so to who asked, and to nobody else', async () => {
    const reading = { storage: aStore(), clock: slowClock().clock };
    const failing = inTurn(reading, async () => {
      throw new Error('away');
    });
    const next = inTurn(reading, async () => 'found');
    await expect(failing).rejects.toThrow('away');
    expect(await next).toBe('found');
  });

  test.each([
    [9, 9],
    [2, 4],
  ])(
    'the next one waits while somebody else does, and no longer than the piece before it took, or a lead: %i ms, %i ms',
    async (took, waits) => {
      const { clock, pass, turns } = slowClock();
      const reading = { storage: aStore(), clock, othersWait: () => true };
      await inTurn(reading, async () => pass(took));
      await inTurn(reading, async () => {
        expect(turns()).toBe(waits);
      });
    },
  );

  test('the next one waits a single turn where nobody waits, and no longer than they do', async () => {
    const { clock, pass, turns } = slowClock();
    const answers = [true, true, false, false];
    const reading = { storage: aStore(), clock, othersWait: () => answers.shift() ?? false };
    await inTurn(reading, async () => pass(50));
    await inTurn(reading, async () => {
      expect(turns()).toBe(3);
      pass(50);
    });
    await inTurn(reading, async () => {
      expect(turns()).toBe(4);
    });
  });
});
