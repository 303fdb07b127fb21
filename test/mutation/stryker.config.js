/**
 * `npm run mutate`: breaks the rooms that keep the promises, one small change at a time, and sees whether
 * a test fails. `npm run mutate -- --mutate src/intake/body.ts` for one file; about half an hour for all.
 */
export default {
  mutate: ['src/{actions,forms,intake}/*.ts'],
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner'],
  vitest: { configFile: 'test/mutation/vitest.config.ts', related: false },
  coverageAnalysis: 'perTest',
  concurrency: 1,
  timeoutMS: 10_000,
  // It would be rewritten by an interface of the compiler that TypeScript 7 does not have.
  tsconfigFile: 'none',
  ignorePatterns: ['data', 'screenshots', 'reports'],
  reporters: ['clear-text', 'progress-append-only', 'json'],
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
  thresholds: { high: 95, low: 90, break: 90 },
};
