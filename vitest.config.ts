import { configDefaults, defineConfig } from 'vitest/config';

/** Rolling restarts behind nginx, and backups under load: `npm run rehearse`. */
export const rehearsals = ['test/deploy/rolling.test.ts', 'test/commands/backup.test.ts'];

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...rehearsals],
    pool: 'forks',
    testTimeout: 20_000,
    hookTimeout: 20_000,
    // Two cores: more processes only wait for each other.
    maxWorkers: 2,
  },
});
