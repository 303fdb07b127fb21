import { spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Ran, ranToTheEnd } from '../support/ran.ts';

type RunOptions = {
  environment?: Record<string, string>;
  folder?: string;
  nodeOptions?: string[];
  entry?: string;
  /** What stands on standard input; none where it is not given. */
  input?: string;
};

/** Where the project is. */
export const project = resolve(import.meta.dirname, '../..');

/** A folder of its own for each test. */
export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'service-'));
}

/** Runs `bin/service.js` as npm would, in a folder and with an environment of the test's own. */
export function runService(args: string[], options: RunOptions = {}): Promise<Ran> {
  const { environment = {}, folder = temporaryFolder(), nodeOptions = [] } = options;
  const entry = options.entry ?? join(project, 'bin/service.js');
  const child = spawn(process.execPath, [...nodeOptions, entry, ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.on('error', () => {});
  child.stdin.end(options.input ?? '');
  return ranToTheEnd(child);
}
