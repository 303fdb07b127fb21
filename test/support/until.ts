import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until something holds; throws where it does not within ten seconds. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`Never came: ${holds}`);
    await sleep(20);
  }
}
