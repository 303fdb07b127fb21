/** State that the drivers of one run share. */
import type { Client } from './client.ts';
import type { Ledger } from './ledger.ts';
import type { Random } from './random.ts';

export type Run = {
  ledger: Ledger;
  random: Random;
  client: Client;
  /** Text that occurs in every value that a person would have typed, and nowhere else. */
  marker: string;
  /** The agents' credentials, by client name. */
  tokens: Record<string, string>;
  /**
   * The phase is `faults` while faults strike. Then the phase is `calm`, while all clients retry until their answers
   * are final.
   */
  phase: 'faults' | 'calm' | 'over';
  /** Resolves after `ms` milliseconds, or as soon as the faults have stopped. */
  rest(ms: number): Promise<void>;
  endFaults(): void;
};

/** Returns a run in the phase `faults`. */
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
