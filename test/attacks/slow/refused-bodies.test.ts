/** What a body with too many names costs before it is refused (API4; contract §4, "Refusing is cheap"). */
import { expect, test } from 'vitest';
import { decodeForm } from '../../../src/intake/decode-form.ts';

/** The least of the time that each takes, in turn, on a machine that does other things as well. */
async function leastOf(...runs: (() => unknown)[]): Promise<number[]> {
  const least = runs.map(() => Number.POSITIVE_INFINITY);
  for (let times = 0; times < 60; times += 1) {
    for (const [n, run] of runs.entries()) {
      const before = performance.now();
      await run();
      least[n] = Math.min(least[n] ?? 0, performance.now() - before);
    }
  }
  return least;
}

test.each(['"v"', '1'])('40,000 names of %s cost little more than to parse them', async (value) => {
  const names = Array.from({ length: 40_000 }, (_, n) => `"n${n}":${value}`);
  const bytes = Buffer.from(`{${names.join(',')}}`);
  const request = {
    contentType: 'application/json',
    takeFromLimit: () => expect.fail(),
    readBody: async () => ({ kind: 'read' as const, bytes }),
    traceparent: undefined,
  };
  const [decoding = 0, parsing = 0] = await leastOf(
    () => decodeForm(request, 32_000),
    () => JSON.parse(bytes.toString()),
  );
  console.info(`decoded in ${decoding.toFixed(1)} ms, parsed in ${parsing.toFixed(1)} ms`);
  expect(decoding).toBeLessThan(2.4 * parsing);
});
