import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until `holds` returns true. Throws after `withinMs` milliseconds. */
export async function until(holds: () => boolean | Promise<boolean>, withinMs = 10_000): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`Never came: ${holds}`);
    await sleep(20);
  }
}
