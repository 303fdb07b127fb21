/** How long a step takes on a store that is warm: half of the measured runs take longer. */

const MEASURED = 400;

/** Takes what to run; returns the median of its runs, in milliseconds. */
export async function median(run: () => Promise<unknown>): Promise<number> {
  for (let n = 0; n < MEASURED; n += 1) await run();
  const times: number[] = [];
  for (let n = 0; n < MEASURED; n += 1) {
    const before = performance.now();
    await run();
    times.push(performance.now() - before);
  }
  times.sort((a, b) => a - b);
  return times[Math.floor(times.length / 2)] ?? Number.NaN;
}
