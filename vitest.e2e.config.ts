import { defineConfig } from 'vitest/config';

/** The browser tests: each file has a browser and a real service of its own, two at a time. */
export default defineConfig({
  test: {
    include: ['e2e/**/*.e2e.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
