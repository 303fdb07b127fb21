import { defineConfig } from 'vitest/config';
import { attacks } from './vitest.config.ts';

/** The attacks that take long (floods, statistics, proxies): `npm run attacks`. */
export default defineConfig({
  test: {
    include: attacks,
    pool: 'forks',
    testTimeout: 60_000,
    hookTimeout: 30_000,
    // One after another: they measure time.
    maxWorkers: 1,
  },
});
