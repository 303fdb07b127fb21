/** Totals of many runs. */
import type { Finished } from './run.ts';

export type Failure = { seed: string; violations: string[] };

export type Sums = {
  runs: number;
  faults: Map<string, number>;
  answers: Map<string, number>;
};

export function emptySums(): Sums {
  return { runs: 0, faults: new Map(), answers: new Map() };
}

/** Adds the counts of one run. */
export function addRun(sums: Sums, { faults, answers }: Finished): void {
  addSums(sums, { runs: 1, faults, answers });
}

/** Adds the totals of a worker. */
export function addSums(sums: Sums, more: Sums): void {
  sums.runs += more.runs;
  for (const table of ['faults', 'answers'] as const) {
    for (const [name, times] of more[table]) {
      sums[table].set(name, (sums[table].get(name) ?? 0) + times);
    }
  }
}
