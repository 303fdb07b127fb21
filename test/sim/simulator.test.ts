import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { defects } from '../../sim/defects/defects.ts';
import { simulate } from '../../sim/run.ts';
import { inTurn } from '../support/in-turn.ts';

const project = resolve(import.meta.dirname, '../..');

/** Seeds in which a promise was broken once; what they found has a test of its own as well. */
const KEPT: [seed: string, found: string][] = [
  ['kept-137', 'a step of the wall clock brought a message that was under way a second time'],
  ['kept-1406', 'the same'],
  ['05b5cda-289', 'one look that failed had "kept" said of what had been rejected'],
  ['b369ce9-4230', 'one was told that its client is reported, examined just before it was'],
];

/** A thousand seeds of a base, to the first that breaks a promise. */
function look(name: string, base: string) {
  const argv = ['--import', './sim/defects/plant.ts', 'sim/main.ts', '--seeds', '1000', '--stop'];
  const env = { ...process.env, SIM_DEFECT: name };
  return spawnSync(process.execPath, [...argv, '--base', base], {
    cwd: project,
    env,
    encoding: 'utf8',
  });
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

  test.each(
    inTurn(
      defects.map(({ name }) => name),
      3,
    ),
  )('finds a planted defect within 2,000 seeds: %s', { timeout: 120_000 }, (name) => {
    const first = look(name, 'planted');
    const run = first.status === 0 ? look(name, 'w6') : first;
    expect([run.status, run.stderr]).toEqual([1, expect.stringMatching(/--seed \S+-\d/)]);
    console.log(`${name}: ${run.stderr.trim().split('\n').join(' ')}`);
  });
});
