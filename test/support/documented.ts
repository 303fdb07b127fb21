/** Extracts commands from a documentation page, and runs them in a folder. */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { atEndOfFile } from './leftovers.ts';
import { type Ran, ranToTheEnd } from './ran.ts';

const project = resolve(import.meta.dirname, '../..');

/** Returns every block of shell commands under a second-level heading of a page. */
export function commandsUnder(path: string, heading: string): string[] {
  const [, section = ''] = readFileSync(join(project, path), 'utf8').split(`\n## ${heading}\n`);
  const [own = ''] = section.split('\n## ', 1);
  return [...own.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, code = '']) => code);
}

/** Returns an empty folder, which is removed at the end of the test file. */
export function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'documented-'));
  atEndOfFile(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Creates a folder with the project as it is after `npm ci`, without settings and data. */
export function checkOut(folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const name of ['bin', 'content', 'examples', 'node_modules', 'package.json', 'src']) {
    symlinkSync(join(project, name), join(folder, name));
  }
}

/** Environment of a login shell, without the Node.js of this project. npm adds that one. */
export const ofTheMachine = {
  PATH: (process.env.PATH ?? '').replaceAll(join(project, 'node_modules/.bin'), ''),
  HOME: process.env.HOME ?? '',
  npm_config_update_notifier: 'false',
};

/** Runs commands one after another until one fails. */
export function runCommands(commands: string, folder: string, environment: Record<string, string> = {}): Promise<Ran> {
  const child = spawn('bash', ['-euo', 'pipefail', '-c', commands], {
    cwd: folder,
    env: { ...ofTheMachine, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return ranToTheEnd(child, 'exit');
}
