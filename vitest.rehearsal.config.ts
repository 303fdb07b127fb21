import { defineConfig } from 'vitest/config';
import { rehearsals } from './vitest.config.ts';

/** The slow ones, one after another: they measure time under a load of their own. */
export default defineConfig({
  test: {
    include: rehearsals,
    pool: 'forks',
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 1,
  },
});
