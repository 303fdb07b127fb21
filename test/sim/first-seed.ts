/**
 * `node --import sim/defects/plant.ts test/sim/first-seed.ts SEED` simulates this seed, then at most 2,000 seeds of the
 * bases. It prints the first seed that violates an invariant, with the violations. It prints nothing if none does.
 */
import { simulate } from '../../sim/run.ts';

/** Bases of 1,000 seeds each. */
const BASES = ['planted', 'w6'];
const SEEDS = 1_000;

// A run creates many errors, and nobody reads their stacks.
Error.stackTraceLimit = 0;

const first = process.argv.slice(2);
const others = BASES.flatMap((base) => Array.from({ length: SEEDS }, (_, number) => `${base}-${number}`));
for (const seed of new Set([...first, ...others])) {
  const { violations } = await simulate(seed, false);
  if (violations.length === 0) continue;
  process.stdout.write(JSON.stringify({ seed, violations }));
  break;
}
