import { configDefaults, defineConfig } from 'vitest/config';

/** Floods, statistics over thousands of answers, smuggling through proxies: `npm run attacks`. */
const attacks = ['test/attacks/slow/*.test.ts'];

/** Crashes, failing disks, wrong clocks and lost answers under the real process: `npm run faults`. */
const faults = ['test/crash/**/*.test.ts', 'test/faults/process/**/*.test.ts'];

/** Those of them that measure how long an answer takes. */
const timed = ['test/faults/process/{lock,redis}.test.ts'];

/** Rolling restarts behind nginx, backups under load, planted defects: `npm run rehearse`. */
const rehearsals = [
  'test/deploy/**/*.test.ts',
  'test/commands/backup.test.ts',
  'test/confirmations/races.test.ts',
  'test/console/unused.test.ts',
  'test/mcp/conformance.test.ts',
  'test/mcp/programs.test.ts',
  'test/newsletter/slow/*.test.ts',
  'test/sim/**/*.test.ts',
];

/** What starts a process for each answer, or waits for a store that is away: `npm run processes`. */
const processes = [
  'test/commands/**/*.test.ts',
  'test/examples/**/*.test.ts',
  'test/faults/store-away.test.ts',
  'test/operations/{failing-store,logs,process}.test.ts',
  'test/storage/migrations.test.ts',
  'test/submissions/store-away.test.ts',
];

/** What the files of every project have in common. */
const setupFiles = ['test/support/end-of-file.ts'];
const common = { pool: 'forks' as const, setupFiles };

/** They measure time, or load the machine themselves: one file after another. */
const alone = { ...common, maxWorkers: 1, testTimeout: 60_000, hookTimeout: 60_000 };

/** They mostly wait, for leases, schedules, restarts and browsers: two files at a time. */
const waiting = { ...alone, maxWorkers: 2 };

/** Side by side, and the service is loaded once for all files of a worker, which takes a quarter of the time off. */
const together = {
  ...common,
  setupFiles: [...setupFiles, 'test/support/property-seed.ts'],
  isolate: false,
  testTimeout: 20_000,
  hookTimeout: 20_000,
  // One more than two cores: half of the time something is waited for, a store that is away, a time-out.
  maxWorkers: 3,
};

/** One project for each command of `package.json`; `npm test` is `unit`. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...together,
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...processes, ...rehearsals, ...faults, ...attacks],
        },
      },
      {
        test: {
          ...together,
          name: 'processes',
          include: processes,
          exclude: [...configDefaults.exclude, ...rehearsals],
        },
      },
      { test: { ...alone, name: 'attacks', include: attacks, hookTimeout: 30_000 } },
      {
        test: {
          ...waiting,
          name: 'faults',
          include: faults,
          exclude: [...configDefaults.exclude, ...timed],
        },
      },
      // After the others: beside them they would measure the machine.
      { test: { ...alone, name: 'faults-timed', include: timed, sequence: { groupOrder: 1 } } },
      { test: { ...alone, name: 'rehearsals', include: rehearsals } },
      // Each file has a browser and a real service of its own.
      { test: { ...waiting, name: 'e2e', include: ['e2e/**/*.e2e.ts'] } },
    ],
  },
});
