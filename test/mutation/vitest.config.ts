import { resolve } from 'node:path';
import { defineConfig } from 'vitest/config';
import { modules } from './modules.ts';

/** Tests that run for every mutant (`npm run mutate`). */
export default defineConfig({
  root: resolve(import.meta.dirname, '../..'),
  test: {
    include: process.env.MUTATE_TESTS?.split(' ') ?? testsOf(modules),
    setupFiles: ['test/support/end-of-file.ts'],
    // The service is loaded once for all files of a mutant, which takes half of the time.
    isolate: false,
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});

function testsOf(names: readonly string[]): string[] {
  return [
    ...names.map((name) => `test/${name}/**/*.test.ts`),
    ...(names.includes('actions') ? ['test/attacks/token-forgery.test.ts'] : []),
    ...(names.includes('receipts') ? ['test/attacks/receipt-forgery.test.ts'] : []),
    ...(names.includes('forms') ? ['test/discovery/openapi.test.ts'] : []),
  ];
}
