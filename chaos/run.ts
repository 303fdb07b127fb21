/** What the drivers of one run share. */
import type { Client } from './client.ts';
import type { Ledger } from './ledger.ts';
import type { Random } from './random.ts';

export type Run = {
  ledger: Ledger;
  random: Random;
  client: Client;
  /** Stands in every value a person would have typed, and in nothing else. */
  marker: string;
  /** The agents' credentials, by the client's name. */
  tokens: Record<string, string>;
  /** `faults`: they strike. `calm`: they have stopped, and everybody asks until there is an answer. */
  phase: 'faults' | 'calm' | 'over';
  /** Resolves after so long, or as soon as the faults have stopped. */
  rest(ms: number): Promise<void>;
  endFaults(): void;
};

/** Takes the rest; returns a run whose faults strike. */
export function openRun(parts: Omit<Run, 'phase' | 'rest' | 'endFaults'>): Run {
  let wake = () => {};
  const calm = new Promise<void>((resolve) => {
    wake = resolve;
  });
  const after = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms));
  const run: Run = {
    ...parts,
    phase: 'faults',
    rest: async (ms) => {
      if (run.phase === 'faults') await Promise.race([after(ms), calm]);
      else await after(Math.min(ms, 300));
    },
    endFaults: () => {
      run.phase = 'calm';
      wake();
    },
  };
  return run;
}
