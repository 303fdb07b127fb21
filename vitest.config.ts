import { configDefaults, defineConfig } from 'vitest/config';

/** Slow tests of `npm run attacks`: floods, fuzzing, statistics, smuggling through proxies, proofs of patterns. */
const slowAttacks = ['test/attacks/slow/*.test.ts', 'test/attacks/*-fuzz.test.ts'];

/** Attack tests that measure the time of an answer. */
const attacksTimed = ['test/attacks/slow/*-timing.test.ts'];

/**
 * Tests of `npm run faults`: crashes, failing disks, wrong clocks and lost answers under the real process, and races of
 * two instances.
 */
const faults = [
  'test/crash/**/*.test.ts',
  'test/faults/process/**/*.test.ts',
  'test/**/*races.test.ts',
  'test/confirmations/report.test.ts',
];

/** Fault tests that measure the time of an answer. */
const timed = ['test/faults/process/{lock,redis}.test.ts'];

/** Tests of `npm run rehearse`: rolling restarts behind nginx, backups under load, seeded defects. */
const rehearsals = [
  'test/deploy/**/*.test.ts',
  'test/commands/backup.test.ts',
  'test/checkers/*.test.ts',
  'test/mcp/conformance.test.ts',
  'test/mcp/programs.test.ts',
  'test/newsletter/slow/store-away.test.ts',
  'test/sim/**/*.test.ts',
];

/** Tests of `npm run lighthouse`, which measure how fast a page loads. */
const lighthouse = ['test/lighthouse/*.test.ts'];

/** Tests of `npm run processes`. They mostly wait for other processes, or for a store. */
const processes = [
  'test/attacks/{credential-timing,file-modes,log-injection,patterns,pollution}.test.ts',
  'test/commands/**/*.test.ts',
  'test/credentials/edit-file.test.ts',
  'test/discovery/receivers.test.ts',
  'test/examples/**/*.test.ts',
  'test/faults/{disk,read-only,store-away}.test.ts',
  'test/platform/{debugger-signal,failing-store,full-log,log-output,logs,process,unexpected-errors,upgrade}.test.ts',
  'test/receipts/page.test.ts',
  'test/routes.test.ts',
  'test/site/{agents-page,privacy}.test.ts',
  'test/storage/migrations.test.ts',
  'test/storage/{postgres,sqlite}/*.test.ts',
  'test/structure.test.ts',
  'test/submissions/store-away.test.ts',
  'test/supply-chain.test.ts',
];

/** Options that all projects share. A poll ends once it is true, so its limit costs no time. */
const setupFiles = ['test/support/end-of-file.ts'];
const common = {
  pool: 'forks' as const,
  setupFiles,
  globalSetup: ['test/support/test-run.ts'],
  expect: { poll: { timeout: 10_000 } },
};

/** Runs one file after another, and after all other tests, because a busy machine would change their results. */
const alone = { ...common, maxWorkers: 1, testTimeout: 60_000, hookTimeout: 60_000, sequence: { groupOrder: 2 } };

/** Runs two files at a time, for tests that partly wait: for leases, schedules, restarts and browsers. */
const waiting = { ...alone, maxWorkers: 2, sequence: { groupOrder: 1 } };

/** Runs files in parallel. Each worker loads the service once for all its files, which saves a quarter of the time. */
const together = {
  ...common,
  setupFiles: [...setupFiles, 'test/support/property-seed.ts'],
  isolate: false,
  testTimeout: 20_000,
  hookTimeout: 20_000,
  // Four workers on two cores, because tests wait half of their time, for example for an unavailable store or a
  // time-out.
  maxWorkers: 4,
};

/**
 * One project for each command of `package.json`. `npm test` runs `unit`. `npx vitest run PATH` runs the files of a path,
 * whatever their project.
 */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...together,
          name: 'unit',
          // Six workers on two cores. The command shuffles the files, always in the same way, so that files that wait
          // run beside files that compute. The order of Vitest starts with the largest files, of which most wait.
          maxWorkers: 6,
          include: ['test/**/*.test.ts'],
          exclude: [
            ...configDefaults.exclude,
            ...processes,
            ...rehearsals,
            ...lighthouse,
            ...faults,
            'test/attacks/**',
          ],
        },
      },
      {
        test: {
          ...together,
          name: 'processes',
          // Vitest needs another group for another number of workers.
          sequence: { groupOrder: 3 },
          include: processes,
          exclude: [...configDefaults.exclude, ...rehearsals],
        },
      },
      {
        test: {
          ...waiting,
          name: 'attacks',
          // Two of these files wait for half a minute at a time.
          maxWorkers: 4,
          sequence: { groupOrder: 4 },
          include: slowAttacks,
          hookTimeout: 30_000,
          exclude: [...configDefaults.exclude, ...attacksTimed],
        },
      },
      {
        test: {
          ...together,
          name: 'attacks-together',
          sequence: { groupOrder: 3 },
          include: ['test/attacks/*.test.ts'],
          exclude: [...configDefaults.exclude, ...processes, ...slowAttacks],
        },
      },
      { test: { ...alone, name: 'attacks-timed', include: attacksTimed, hookTimeout: 30_000 } },
      {
        test: {
          ...waiting,
          name: 'faults',
          include: faults,
          exclude: [...configDefaults.exclude, ...timed],
        },
      },
      { test: { ...alone, name: 'faults-timed', include: timed } },
      { test: { ...waiting, name: 'rehearsals', include: rehearsals } },
      // Four audits of a page take up to 80 s.
      { test: { ...alone, name: 'lighthouse', include: lighthouse, testTimeout: 120_000 } },
      // Each file has its own browser and real service.
      { test: { ...waiting, name: 'e2e', include: ['e2e/**/*.e2e.ts'] } },
    ],
  },
});
