import { globSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runService, temporaryFolder } from '../../commands/run-service.ts';
import { injected } from '../../support/injected.ts';
import { type ProgrammableUpstream, startUpstream } from '../../support/upstream.ts';

const [library] = globSync('/usr/lib/*/faketime/libfaketime.so.1');
if (library === undefined) {
  if (process.env.TEST_SERVICES === 'required') throw new Error('libfaketime is not there.');
  console.log('skipped: a wrong wall clock needs libfaketime');
}

describe.runIf(library !== undefined)('doctor on a machine with a wrong clock', () => {
  let upstream: ProgrammableUpstream;
  beforeAll(async () => {
    upstream = await startUpstream();
  });
  afterAll(() => upstream.close());

  test.for([
    { what: 'right', offset: '+0', outcome: 'ok', says: /, \d s (behind|ahead of) the upstream/ },
    { what: 'two minutes ahead', offset: '+120', outcome: 'warning', says: /1[12]\d s ahead of/ },
    { what: 'three days ahead', offset: '+3d', outcome: 'failed', says: /2592\d\d s ahead of/ },
    {
      what: 'three years ahead',
      offset: '+3y',
      outcome: 'failed',
      says: /9460[78]\d{3} s ahead of/,
    },
  ])('reports $outcome for a clock that is $what', async ({ what, offset, outcome, says }, context) => {
    const ran = await runService(['doctor', '--json'], {
      environment: {
        DATA_DIR: temporaryFolder(),
        UPSTREAM_URL: upstream.url,
        LD_PRELOAD: library ?? '',
        FAKETIME: offset,
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
        DONT_FAKE_MONOTONIC: '1',
      },
    });
    injected(context, `the doctor's wall clock is ${what}`);
    const { findings } = JSON.parse(ran.stdout) as { findings: Record<string, string>[] };
    const clock = findings.find(({ check }) => check === 'clock');
    expect(clock?.outcome).toBe(outcome);
    expect(clock?.says).toMatch(says);
    expect(ran.status).toBe(outcome === 'failed' ? 1 : 0);
  });
});
