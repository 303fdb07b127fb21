import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { defects } from '../../sim/defects/defects.ts';
import { simulate } from '../../sim/run.ts';
import { inTurn } from '../support/in-turn.ts';
import { project } from '../support/program.ts';
import { type Ran, ranToTheEnd } from '../support/ran.ts';
import { foundAt } from './found-at.ts';

// CI has two cores, and each runs one simulator.
vi.setConfig({ maxConcurrency: 2 });

/** Seeds that once found a defect in the source or the simulator. Each defect also has its own test. */
const KEPT: [seed: string, found: string][] = [
  ['kept-137', 'a jump of the wall clock sent a message twice'],
  ['kept-1406', 'a jump of the wall clock sent a message twice'],
  ['05b5cda-289', 'a failed read reported a rejected submission as stored'],
  ['b369ce9-4230', 'a request that was checked before a report of its client was refused because of it'],
];

/** Simulates with a seeded defect. Runs the seed that last found it, then others, until one violates an invariant. */
function look(name: string): Promise<Ran> {
  const seeds = foundAt.get(name) ?? [];
  const argv = ['--import', './sim/defects/plant.ts', 'test/sim/first-seed.ts', ...seeds];
  const env = { ...process.env, SIM_DEFECT: name, NODE_COMPILE_CACHE: join(project, 'node_modules/.cache/simulator') };
  return ranToTheEnd(spawn(process.execPath, argv, { cwd: project, env, stdio: ['ignore', 'pipe', 'pipe'] }));
}

describe('simulator', () => {
  // The run of `determinism-907` has operators, hosts, an erasure and mail to the contractor.
  test.each([
    ['determinism-1', 'determinism-2'],
    ['determinism-907', 'determinism-1'],
  ])('runs identically for the seed %s twice, and differently for %s', async (seed, different) => {
    const [one, again, other] = [
      await simulate(seed, true),
      await simulate(seed, true),
      await simulate(different, true),
    ];
    expect(again).toEqual(one);
    expect(other.digest).not.toBe(one.digest);
    expect(one.trace.length).toBeGreaterThan(10);
  });

  test.each(KEPT)('finds no violation for seed %s: %s', async (seed) => {
    expect((await simulate(seed, false)).violations).toEqual([]);
  });

  test.concurrent.for(
    inTurn(
      defects.map(({ name }) => name),
      3,
    ),
  )('finds the seeded defect within 2,000 runs: %s', { timeout: 120_000 }, async (name) => {
    const { status, stdout, stderr } = await look(name);
    expect([status, stderr, stdout]).toEqual([0, '', expect.stringMatching(/^\{"seed":/)]);
    const { seed, violations } = JSON.parse(stdout);
    expect(violations).not.toEqual([]);
    console.log(`${name}: ${seed}: ${violations.join(' ')}`);
  });
});
