import { modules } from './modules.ts';

/**
 * `npm run mutate` makes small changes to the most important modules, one at a time, and checks that a test fails. It
 * takes hours. `MUTATE_MODULE=mail npm run mutate` limits it to one module, and `-- --mutate src/mail/outbox.ts` after
 * that to one file. `MUTATE_TESTS='test/mail/outbox.test.ts'` limits the tests. `-- --testRunner command` also mutates the
 * program in processes that a test starts, and what a module computes when it is loaded. It starts all tests anew for
 * each mutant.
 */
export default {
  mutate: modules.map((module) => `src/${module}/**/*.ts`),
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner'],
  vitest: { configFile: 'test/mutation/vitest.config.ts', related: false },
  commandRunner: { command: 'vitest run --config test/mutation/vitest.config.ts --bail 1' },
  coverageAnalysis: 'perTest',
  concurrency: 1,
  timeoutMS: 10_000,
  // Stryker would rewrite the file with a compiler interface that TypeScript 7 does not have.
  tsconfigFile: 'none',
  ignorePatterns: ['data', 'screenshots', 'reports'],
  reporters: ['clear-text', 'progress-append-only', 'json'],
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
  thresholds: { high: 95, low: 90, break: 90 },
};
