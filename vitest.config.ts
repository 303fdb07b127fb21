import { configDefaults, defineConfig } from 'vitest/config';

/** Crashes, rolling restarts behind nginx, backups under load: `npm run rehearse`. */
export const rehearsals = [
  'test/crash/**/*.test.ts',
  'test/deploy/**/*.test.ts',
  'test/commands/backup.test.ts',
];

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
