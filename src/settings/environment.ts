/** Environment of the process, and the `.env` of a folder (reference §20.2). A line without an effect is a fault. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { nearest } from './did-you-mean.ts';
import { fileVariable, type VariableName, variables } from './variables.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export type LoadedEnvironment = {
  environment: Environment;
  /** Returns the source of a variable, or undefined if it is not set. */
  origins: (name: string) => 'environment' | '.env' | undefined;
  /** Path of the `.env`, and whether it exists. */
  file: { path: string; found: boolean };
  /** Faults of the `.env`, one sentence each. A sentence repeats only names of the `.env`, never values. */
  faults: string[];
};

/** `NAME=value`, with or without `export`. Matches the name before the first `=`, and the text behind it. */
const ASSIGNMENT = /^(?:export\s+)?([^\s=]+)\s*=(.*)$/s;
/** A quoted value ends on its line. A blank and a comment may follow. Double quotes may hold `\"`, `\\` and `\n`. */
const QUOTED = /^(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|`([^`]*)`)\s*(?:\s#.*)?$/;
/** In a value without quotes, `#` begins a comment only behind a blank, so `Paint#1` is a name (reference §20.2). */
const COMMENT = /\s#/;

/** Matches a whole value between two quotation marks, also with `\"` inside. A comment may follow. */
const IN_QUOTES = /^\s*(?:"(?:[^"]|\\")*"|'[^']*')\s*(?:\s#\s.*)?$/s;

/**
 * Returns true if a value is in quotation marks. `docker run --env-file` does not remove the marks of `NAME="value"`,
 * so people would read the marks in a name (reference §20.2).
 */
export const isQuoted = (value: string) => IN_QUOTES.test(value);

/** Loads the variables of the process and of the `.env` in `folder`. Variables of the process have priority. */
export function loadEnvironment(folder: string): LoadedEnvironment {
  const path = join(folder, '.env');
  const own: Environment = process.env;
  const { values: file, found, faults } = readEnvFile(path);
  return {
    environment: { ...file, ...own },
    origins: (name) => (own[name] !== undefined ? 'environment' : file[name] !== undefined ? '.env' : undefined),
    file: { path, found },
    faults,
  };
}

/**
 * Parses the lines, because the platform's `parseEnv` cuts a value at any `#` and does not support `\"`. If several
 * lines have the same name, the last line counts.
 */
function readEnvFile(path: string): { values: Environment; found: boolean; faults: string[] } {
  try {
    const lines = readText(path).split(/\r\n?|\n/);
    const read = lines.map((line, index) => readLine(line.trim(), `line ${index + 1} of .env`));
    return {
      values: Object.fromEntries(read.flatMap(({ entry }) => (entry ? [entry] : []))),
      found: true,
      faults: read.flatMap(({ fault }) => fault ?? []),
    };
  } catch (error) {
    const isAbsent = (error as NodeJS.ErrnoException).code === 'ENOENT';
    const fault =
      error instanceof EncodingFault
        ? `The .env file ${error.message}.`
        : 'The .env file can’t be read. Check its permissions.';
    return { values: {}, found: false, faults: isAbsent ? [] : [fault] };
  }
}

const inFront = (where: string) => where.replace(/^l/, 'L');

/** Parses a trimmed line. Returns the line's name and value, or its fault. Returns neither for a comment. */
function readLine(line: string, where: string): { entry?: [string, string]; fault?: string } {
  if (line === '' || line.startsWith('#')) return {};
  const [, name, written = ''] = ASSIGNMENT.exec(line) ?? [];
  if (name === undefined) return { fault: `${inFront(where)} is not NAME=value.` };
  const known = (Object.keys(variables) as VariableName[])
    .flatMap((each) => [each, fileVariable(each)])
    .filter((each) => each !== undefined);
  if (!known.includes(name)) {
    const near = nearest(name.toUpperCase(), known);
    const remedy = near === undefined ? 'See .env.example.' : `Did you mean ${near}?`;
    // A name with small letters may be a part of a secret that was broken over lines, so the fault omits the name.
    const subject = /^[A-Z][A-Z0-9_]*$/.test(name) ? `${name} (${where})` : inFront(where);
    return { fault: `${subject} names no setting. ${remedy}` };
  }
  const value = readValue(written);
  if (value !== undefined) return { entry: [name, value] };
  return { fault: `${name} (${where}) has an unclosed quotation mark, or text behind the closing one.` };
}

/** Parses the text behind `=`. Returns undefined if the text begins with a quote but is not one quoted value. */
function readValue(written: string): string | undefined {
  if (!/^\s*["'`]/.test(written)) return written.split(COMMENT, 1).join().trim();
  const quoted = QUOTED.exec(written.trimStart());
  if (quoted === null) return undefined;
  const [, double, single, backtick] = quoted;
  if (double === undefined) return single ?? backtick;
  return double.replace(/\\(["\\n])/g, (_, escaped) => (escaped === 'n' ? '\n' : escaped));
}

/** Thrown if a file is not in UTF-8. The message is a predicate with the remedy. */
export class EncodingFault extends Error {
  override name = 'EncodingFault';
}

/**
 * Returns the text of a file in UTF-8, without a byte order mark.
 * @throws EncodingFault, or the error of the file system
 */
export function readText(path: string): string {
  const bytes = readFileSync(path);
  // PowerShell's `>` writes UTF-16.
  if (/^(\xff\xfe|\xfe\xff)/.test(bytes.toString('latin1', 0, 2))) {
    throw new EncodingFault('is UTF-16. Save it as UTF-8');
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    if (!text.includes('\0')) return text;
  } catch {}
  throw new EncodingFault('is not valid UTF-8. Save it as UTF-8');
}
