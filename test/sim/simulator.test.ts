import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { defects } from '../../sim/defects/defects.ts';
import { simulate } from '../../sim/run.ts';
import { inTurn } from '../support/in-turn.ts';
import { project } from '../support/program.ts';
import { type Ran, ranToTheEnd } from '../support/ran.ts';
import { foundAt } from './found-at.ts';

// Each of two cores runs one simulator.
vi.setConfig({ maxConcurrency: 2 });

/** Seeds that found a defect, which also has its own test. */
const KEPT: [seed: string, found: string][] = [
  ['kept-137', 'a step of the wall clock brought a message that was under way a second time'],
  ['kept-1406', 'the same'],
  ['05b5cda-289', 'one look that failed had "kept" said of what had been rejected'],
  ['b369ce9-4230', 'one was told that its client is reported, examined just before it was'],
];

/** Simulates with a planted defect: the seed that found it last, then other seeds, until one breaks a promise. */
function look(name: string): Promise<Ran> {
  const seeds = foundAt.get(name) ?? [];
  const argv = ['--import', './sim/defects/plant.ts', 'test/sim/first-seed.ts', ...seeds];
  const env = { ...process.env, SIM_DEFECT: name, NODE_COMPILE_CACHE: join(project, 'node_modules/.cache/simulator') };
  return ranToTheEnd(spawn(process.execPath, argv, { cwd: project, env, stdio: ['ignore', 'pipe', 'pipe'] }));
}

describe('the simulator', () => {
  test('does the same for the same seed, and something else for another', async () => {
    const [one, again, other] = [
      await simulate('determinism-1', true),
      await simulate('determinism-1', true),
      await simulate('determinism-2', true),
    ];
    expect(again).toEqual(one);
    expect(other.digest).not.toBe(one.digest);
    expect(one.trace.length).toBeGreaterThan(10);
  });

  test.each(KEPT)('seed %s keeps every promise: %s', async (seed) => {
    expect((await simulate(seed, false)).violations).toEqual([]);
  });

  test.concurrent.for(
    inTurn(
      defects.map(({ name }) => name),
      3,
    ),
  )('finds a planted defect within 2,000 seeds: %s', { timeout: 120_000 }, async (name) => {
    const { status, stdout, stderr } = await look(name);
    expect([status, stderr, stdout]).toEqual([0, '', expect.stringMatching(/^\{"seed":/)]);
    const { seed, violations } = JSON.parse(stdout);
    expect(violations).not.toEqual([]);
    console.log(`${name}: ${seed}: ${violations.join(' ')}`);
  });
});
