import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Programs of others. They have a separate lock file, because the service and the other tests don't need them. */
const folder = join(import.meta.dirname, 'programs');

/** Returns the entry file of a program. Throws with the install command if it is missing. */
export function entryOf(packageName: string, program: string): string {
  const own = join(folder, 'node_modules', packageName);
  if (!existsSync(own)) throw new Error('Lay the programs first: npm run programs');
  const { bin } = JSON.parse(readFileSync(join(own, 'package.json'), 'utf8'));
  return join(own, typeof bin === 'string' ? bin : bin[program]);
}

type Ran = { status: number | null; stdout: string; stderr: string };

type Options = { environment?: Record<string, string>; input?: string };

/** Runs a program to its end. */
export function runProgram(
  packageName: string,
  program: string,
  argv: readonly string[],
  options: Options = {},
): Promise<Ran> {
  return run([entryOf(packageName, program), ...argv], options);
}

/** Runs a script of ours that uses their libraries. */
export function runScript(name: string, argv: readonly string[], options: Options = {}) {
  return run([join(folder, name), ...argv], options);
}

function run(argv: readonly string[], { environment = {}, input = '' }: Options): Promise<Ran> {
  const child = spawn(process.execPath, argv, {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...environment },
  });
  const ran: Ran = { status: null, stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    ran.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    ran.stderr += text;
  });
  child.stdin.end(input);
  return new Promise((resolve) => {
    child.on('close', (status) => resolve({ ...ran, status }));
  });
}
