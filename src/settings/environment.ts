/**
 * The environment of the process, and the `.env` of a folder (contract §2): a line there that would be without
 * effect is a fault, for whoever wrote it meant something.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { nearest } from './nearest.ts';
import { fileVariable, type VariableName, variables } from './variables.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export type LoadedEnvironment = {
  environment: Environment;
  /** Where a variable came from; undefined where it is not set. */
  origins: (name: string) => 'environment' | '.env' | undefined;
  /** The `.env` that is read where it is there. */
  file: { path: string; found: boolean };
  /** What is wrong with that file: one sentence each, without anything that stands in it but a name. */
  faults: string[];
};

/** `NAME=value`, with `export` or without: what is before the first `=`, and what is behind it. */
const ASSIGNMENT = /^(?:export\s+)?([^\s=]+)\s*=(.*)$/s;
/** A value that begins with a quote ends with it, on the same line; a comment may follow. */
const QUOTED = /^(["'`])(?:(?!\1).)*\1\s*(?:#.*)?$/;

/** Takes the folder that may hold a `.env`; what is set in the real environment wins over it. */
export function loadEnvironment(folder: string): LoadedEnvironment {
  const path = join(folder, '.env');
  const own: Environment = process.env;
  const { text, faults } = readEnvFile(path);
  const file: Environment = parseEnv(text ?? '');
  return {
    environment: { ...file, ...own },
    origins: (name) =>
      own[name] !== undefined ? 'environment' : file[name] !== undefined ? '.env' : undefined,
    file: { path, found: text !== undefined },
    faults,
  };
}

function readEnvFile(path: string): { text: string | undefined; faults: string[] } {
  try {
    const text = readFileSync(path, 'utf8')
      .replace(/^\uFEFF/, '')
      .replace(/\r\n?/g, '\n');
    const lines = text.split('\n');
    const faults = lines.map((line, index) => faultOf(line, `line ${index + 1} of .env`));
    return { text, faults: faults.filter((fault) => fault !== undefined) };
  } catch (error) {
    const isAbsent = (error as NodeJS.ErrnoException).code === 'ENOENT';
    const fault = 'The .env file can’t be read; check its permissions.';
    return { text: undefined, faults: isAbsent ? [] : [fault] };
  }
}

const inFront = (where: string) => where.replace(/^l/, 'L');

function faultOf(line: string, where: string): string | undefined {
  if (/^\s*(#|$)/.test(line)) return undefined;
  const [, name, written = ''] = ASSIGNMENT.exec(line.trim()) ?? [];
  const value = written.trimStart();
  if (name === undefined) return `${inFront(where)} is no NAME=value.`;
  const known = (Object.keys(variables) as VariableName[])
    .flatMap((each) => [each, fileVariable(each)])
    .filter((each) => each !== undefined);
  if (!known.includes(name)) {
    const near = nearest(name.toUpperCase(), known);
    const remedy = near === undefined ? 'see .env.example.' : `did you mean ${near}?`;
    // What has small letters may be a piece of a secret that was broken over lines.
    const subject = /^[A-Z][A-Z0-9_]*$/.test(name) ? `${name} (${where})` : inFront(where);
    return `${subject} names no setting; ${remedy}`;
  }
  if (/^["'`]/.test(value) && !QUOTED.test(value)) {
    return `${name} (${where}) has a quote that is not closed, or something behind it.`;
  }
  return undefined;
}
