import { spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { program, programEnvironment } from '../support/program.ts';
import { type Ran, ranToTheEnd } from '../support/ran.ts';

type RunOptions = {
  environment?: Record<string, string>;
  folder?: string;
  nodeOptions?: string[];
  entry?: string;
  /** Text for standard input, empty by default. */
  input?: string;
  /** Called with each piece of standard output as it comes. */
  said?: (text: string) => void;
};

/** Creates a new folder for a test. */
export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'service-'));
}

/** Returns options of Node.js with which these streams of the program seem to be a terminal. */
export function atTerminal(...streams: ('stdin' | 'stdout' | 'stderr')[]): string[] {
  const script = `for (const name of ${JSON.stringify(streams)}) process[name].isTTY = true`;
  return ['--import', `data:text/javascript,${script}`];
}

/** Runs the program as npm does, in its own folder and environment. */
export function runService(args: string[], options: RunOptions = {}): Promise<Ran> {
  const { environment = {}, folder = temporaryFolder(), nodeOptions = [] } = options;
  const entry = options.entry ?? program;
  const child = spawn(process.execPath, [...nodeOptions, entry, ...args], {
    cwd: folder,
    env: { ...programEnvironment, ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.on('error', () => {});
  child.stdin.end(options.input ?? '');
  if (options.said !== undefined) child.stdout.setEncoding('utf8').on('data', options.said);
  return ranToTheEnd(child);
}
