import { defineConfig } from 'vitest/config';
import { faults } from './vitest.config.ts';

/** Faults under the real process, one after another, and how often each came: `npm run faults`. */
export default defineConfig({
  test: {
    include: faults,
    pool: 'forks',
    reporters: ['default', './test/support/faults-table.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 1,
  },
});
