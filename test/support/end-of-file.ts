/** Setup file that runs for every test file, even if several share a worker and its loaded modules. */
import { afterAll, vi } from 'vitest';
import { endAll } from './leftovers.ts';

afterAll(async () => {
  // A test that failed may have left its timers, on which every later file of the worker would wait.
  vi.useRealTimers();
  await endAll();
});
