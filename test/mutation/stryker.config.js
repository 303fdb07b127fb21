import { modules } from './modules.ts';

/**
 * `npm run mutate`: breaks the modules that keep the promises, one small change at a time, and sees whether
 * a test fails. `MUTATE_MODULE=mail npm run mutate` for one module, `… -- --mutate src/mail/outbox.ts` for one
 * file of it, and `MUTATE_TESTS='test/mail/outbox.test.ts'` before it for these tests alone; hours for all.
 */
export default {
  mutate: modules.map((module) => `src/${module}/**/*.ts`),
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
