/** Where a command writes and asks: data on stdout, words on stderr (clig.dev). */
import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';
import { UsageFault } from './faults.ts';

type MaybeTerminal = { isTTY?: boolean };

export type TerminalStreams = {
  stdin: Readable & MaybeTerminal;
  stdout: Writable & MaybeTerminal;
  stderr: Writable & MaybeTerminal;
  env: Readonly<Record<string, string | undefined>>;
};

export type Terminal = {
  /** `--json` was given. */
  json: boolean;
  /** Data: a line on stdout. */
  print(line: string): void;
  /** Data in bulk: as it is, waiting for a reader that is slow. */
  write(data: string): Promise<void>;
  /** Words: a line on stderr. */
  say(line: string): void;
  /** Makes data stand out on a terminal, and nowhere else. */
  emphasize(kind: 'bold' | 'good' | 'bad', text: string): string;
  /** One line of standard input, asked for where that is a terminal. */
  readLine(question: string): Promise<string>;
  /** Asks before something is destroyed; off a terminal `--yes` is wanted instead. */
  confirm(question: string, yes: boolean): Promise<boolean>;
};

const COLOURS = { bold: '\u001B[1m', good: '\u001B[32m', bad: '\u001B[31m' };
const PLAIN = '\u001B[0m';

/** Takes the streams of the process, or of a test. */
export function openTerminal(streams: TerminalStreams, json: boolean): Terminal {
  const { stdin, stdout, stderr, env } = streams;
  const inColour = stdout.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb';
  // A reader like `head` goes away when it has enough: that is no failure.
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    process.exit(error.code === 'EPIPE' ? 0 : 1);
  });
  return {
    json,
    print: (line) => void stdout.write(`${line}\n`),
    write: async (data) => {
      if (!stdout.write(data)) await once(stdout, 'drain');
    },
    say: (line) => void stderr.write(`${line}\n`),
    emphasize: (kind, text) => (inColour ? `${COLOURS[kind]}${text}${PLAIN}` : text),
    readLine: async (question) => {
      if (stdin.isTTY === true) stderr.write(`${question} `);
      for await (const line of createInterface({ input: stdin })) return line;
      return '';
    },
    confirm: async (question, yes) => {
      if (yes) return true;
      if (stdin.isTTY !== true || stderr.isTTY !== true) {
        throw new UsageFault(`${question} Off a terminal, say so with --yes.`);
      }
      const lines = createInterface({ input: stdin, output: stderr });
      try {
        // Ctrl-C and the end of the input are a no.
        const closed = once(lines, 'close').then(() => '');
        const answer = await Promise.race([lines.question(`${question} [y/N] `), closed]);
        return /^y(es)?$/i.test(answer.trim());
      } catch {
        return false;
      } finally {
        lines.close();
      }
    },
  };
}

/** Nothing of these may reach a terminal, whatever a row says. */
const CONTROLS = /[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069]/gu;

/** Takes a text of whoever; returns what of it may reach a terminal. */
export function printable(text: string): string {
  return text.replace(CONTROLS, '');
}

/** Prints a table, its head first. */
export function printTable(terminal: Terminal, [head = '', ...lines]: readonly string[]): void {
  terminal.print(terminal.emphasize('bold', head));
  for (const line of lines) terminal.print(line);
}

/** Rows as a table with aligned columns, two spaces between them. */
export function tableOf(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) {
      widths[column] = Math.max(widths[column] ?? 0, cell.length);
    }
  }
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
