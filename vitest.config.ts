import { configDefaults, defineConfig } from 'vitest/config';

/** Rolling restarts behind nginx, backups under load, planted defects: `npm run rehearse`. */
export const rehearsals = [
  'test/deploy/**/*.test.ts',
  'test/commands/backup.test.ts',
  'test/sim/**/*.test.ts',
];

/** Crashes, failing disks, wrong clocks and lost answers under the real process: `npm run faults`. */
export const faults = ['test/crash/**/*.test.ts', 'test/faults/process/**/*.test.ts'];

/** Floods, statistics over thousands of answers, smuggling through proxies: `npm run attacks`. */
export const attacks = ['test/attacks/slow/*.test.ts'];

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...rehearsals, ...faults, ...attacks],
    setupFiles: ['test/support/property-seed.ts'],
    pool: 'forks',
    testTimeout: 20_000,
    hookTimeout: 20_000,
    // Two cores: more processes only wait for each other.
    maxWorkers: 2,
  },
});
