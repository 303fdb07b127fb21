import { defineConfig } from 'vitest/config';

/** The tests that every mutant has to get past: `npm run mutate`. */
export default defineConfig({
  test: {
    include: [
      'test/{actions,forms,intake}/*.test.ts',
      'test/attacks/token-forgery.test.ts',
      'test/discovery/openapi.test.ts',
    ],
    // The service is loaded once for all files of a mutant, which takes half of the time.
    isolate: false,
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});
