/**
 * Runs the service as it is deployed, with real servers, agents and browsers, and causes every fault that we can cause.
 * Then the faults stop, and all clients retry until their answers are final. The run compares the answers with the
 * deliveries, and exits with 1 if an invariant was broken.
 *
 * `CHAOS_MINUTES` (default: 2) and `CHAOS_SEED` set the duration and the schedule. `CHAOS_SCENARIO` (0 or 1) selects
 * one deployment. `CHAOS_LOGS` names a folder that stores the log lines of the instances.
 */

import { ExitFault } from '../src/commands/command-errors.ts';
import type { Command } from '../src/commands/command-line.ts';
import { runCommand } from '../src/commands/command-line.ts';
import { seeded } from './random.ts';
import { describe, describeAnswers, describeViolations } from './report.ts';
import { type Finished, oneProcess, scaledOut } from './scenarios.ts';
import { missingPrograms } from './servers.ts';

/** Fraction of the time in which the scaled-out deployment runs. */
const SCALED_OUT_SHARE = 0.6;

const command: Command = {
  invocation: 'npm run chaos --',
  description: 'The service as it is deployed, under load, while everything around it is broken.',
  examples: ['npm run chaos', 'CHAOS_MINUTES=20 CHAOS_SEED=7 npm run chaos'],
  subcommands: {
    '': {
      description: 'CHAOS_MINUTES and CHAOS_SEED in the environment; status 1 where a promise was broken',
      operands: [],
      options: {},
      run: main,
    },
  },
};

async function main(): Promise<void> {
  const missing = missingPrograms();
  if (missing.length > 0) throw new ExitFault(missing.join('\n'));
  const minutes = Number(process.env.CHAOS_MINUTES ?? 2);
  if (!(minutes > 0)) throw new ExitFault('CHAOS_MINUTES must be a number of minutes.');
  const seed = process.env.CHAOS_SEED ?? `${Date.now() % 1_000_000}`;
  const scenarios = [
    {
      title: 'Three instances behind nginx, PostgreSQL, Redis',
      share: SCALED_OUT_SHARE,
      run: scaledOut,
    },
    { title: 'One instance on SQLite', share: 1 - SCALED_OUT_SHARE, run: oneProcess },
  ].filter((_, index) => (process.env.CHAOS_SCENARIO ?? `${index}`) === `${index}`);
  say(`seed ${seed}, ${minutes} minutes of faults`);
  let violations = 0;
  const reports: string[] = [];
  const runs: { title: string; finished: Promise<Finished> }[] = [];
  for (const { title, share, run } of scenarios) {
    const random = seeded(`${seed}/${title}`);
    const calm = Promise.withResolvers<void>();
    const finished = run({ random, minutes: minutes * share, say, calm: calm.resolve });
    runs.push({ title, finished });
    // Messages are retried after a minute or more. The next deployment does not wait for these messages.
    await Promise.race([calm.promise, finished]);
  }
  for (const { title, finished } of runs) {
    const { ledger, apart } = await finished;
    violations += ledger.violations.length;
    reports.push(describe(title, ledger, apart));
    say(describeAnswers(ledger));
    const broken = describeViolations(ledger);
    if (broken !== '') process.stderr.write(`${broken}\n`);
  }
  process.stdout.write(`\nSeed ${seed}, ${minutes} minutes of faults.\n\n${reports.join('\n\n')}\n`);
  process.exit(violations === 0 ? 0 : 1);
}

const startedAt = performance.now();

function say(sentence: string): void {
  const at = ((performance.now() - startedAt) / 1000).toFixed(1);
  process.stderr.write(`${at.padStart(7)} s  ${sentence}\n`);
}

// Open handles of servers must not delay the exit.
process.exit(await runCommand(command, process.argv.slice(2)));
