/** Scripts in place of PostgreSQL's programs. They record their arguments and print prepared output. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const path = process.env.PATH ?? '';

/** Puts a shell script in the place of a program, in that folder. It finds the shell's own commands. */
export function replaceProgram(folder: string, program: string, script: string): void {
  const tools = join(folder, 'tools');
  mkdirSync(tools, { recursive: true });
  writeFileSync(join(tools, program), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  process.env.PATH = `${tools}${delimiter}${path}`;
}

/** Returns the lines that such a script wrote to `told` in that folder. */
export function toldIn(folder: string): string[] {
  return readFileSync(join(folder, 'told'), 'utf8').trimEnd().split('\n');
}

export function takeProgramsBack(): void {
  process.env.PATH = path;
}
