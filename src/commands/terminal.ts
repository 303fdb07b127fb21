/**
 * Output and questions of a command: data on stdout, messages on stderr (clig.dev). Only this file writes to a stream,
 * and everything it writes is `printable`.
 */
import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';
import type { Formats } from '../submissions/read/export.ts';
import { UsageFault } from './command-errors.ts';
import { printable, printableLines } from './printable.ts';

type MaybeTerminal = { isTTY?: boolean };

export type TerminalStreams = {
  stdin: Readable & MaybeTerminal;
  stdout: Writable & MaybeTerminal;
  stderr: Writable & MaybeTerminal;
  env: Readonly<Record<string, string | undefined>>;
};

/** A part of a line. Emphasis appears as colour, and only on a terminal. */
export type Piece = string | { emphasis: 'bold' | 'good' | 'bad'; text: string };

export type Terminal = {
  /** True if `--json` was given. */
  json: boolean;
  /** Prints data as one line on stdout, even if the text has line breaks. */
  print(...pieces: Piece[]): void;
  /**
   * Writes whole lines of data, and waits for a slow reader. CSV reaches a file or a pipe unchanged, because it has no
   * escapes for characters.
   */
  write(lines: string, format?: 'jsonl' | 'csv'): Promise<void>;
  /** Prints a message as one line on stderr, even if the text has line breaks. */
  say(line: string): void;
  /** Reads one line of standard input. On a terminal it asks for the line. */
  readLine(question: string): Promise<string>;
  /** Asks before a destructive action. Without a terminal, `--yes` is required. */
  confirm(question: string, yes: boolean): Promise<boolean>;
};

const COLOURS = { bold: '\u001B[1m', good: '\u001B[32m', bad: '\u001B[31m' };
const PLAIN = '\u001B[0m';

export function openTerminal(streams: TerminalStreams, json: boolean): Terminal {
  const { stdin, stdout, stderr, env } = streams;
  const inColour = stdout.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb';
  // A reader such as `head` closes the pipe after enough lines, which is no failure.
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    process.exit(error.code === 'EPIPE' ? 0 : 1);
  });
  function shown(piece: Piece): string {
    if (typeof piece === 'string') return printable(piece);
    const text = printable(piece.text);
    return inColour ? `${COLOURS[piece.emphasis]}${text}${PLAIN}` : text;
  }
  return {
    json,
    print: (...pieces) => void stdout.write(`${pieces.map(shown).join('')}\n`),
    write: async (lines, format = 'jsonl') => {
      const isExact = format === 'csv' && stdout.isTTY !== true;
      const text = isExact ? lines : printableLines(lines.replace(BYTE_ORDER_MARK, ''), LINE_END[format]);
      if (!stdout.write(text)) await once(stdout, 'drain');
    },
    say: (line) => void stderr.write(`${printable(line)}\n`),
    readLine: async (question) => {
      if (stdin.isTTY === true) stderr.write(`${printable(question)} `);
      for await (const line of createInterface({ input: stdin })) return line;
      return '';
    },
    confirm: async (question, yes) => {
      if (yes) return true;
      if (stdin.isTTY !== true || stderr.isTTY !== true) {
        throw new UsageFault(`${question} This is not a terminal, so confirm with --yes.`);
      }
      const lines = createInterface({ input: stdin, output: stderr });
      try {
        // Ctrl-C and the end of the input mean no.
        const closed = once(lines, 'close').then(() => '');
        const answer = await Promise.race([lines.question(`${printable(question)} [y/N] `), closed]);
        return /^y(es)?$/i.test(answer.trim());
      } catch {
        return false;
      } finally {
        lines.close();
      }
    },
  };
}

/** The beginning of a CSV file, for spreadsheets only. */
const BYTE_ORDER_MARK = /^\uFEFF/;

/** A CSV cell may have line breaks `\n`, so a record ends with `\r\n`. */
const LINE_END = { jsonl: '\n', csv: '\r\n' };

/** Prints a table, its head first. */
export function printTable(terminal: Terminal, [head = '', ...lines]: readonly string[]): void {
  terminal.print({ emphasis: 'bold', text: head });
  for (const line of lines) terminal.print(line);
}

/** Writes the rows of an export, up to `limit`. */
export async function writeRecords<Row>(
  terminal: Terminal,
  format: 'csv' | 'jsonl',
  formats: Formats<Row>,
  pages: AsyncIterable<readonly Row[]>,
  limit = Number.POSITIVE_INFINITY,
): Promise<void> {
  if (format === 'csv') await terminal.write(formats.head, format);
  let left = limit;
  for await (const page of pages) {
    await terminal.write(page.slice(0, left).map(formats[format]).join(''), format);
    left -= page.length;
    if (left <= 0) return;
  }
}

/**
 * Returns rows as lines of aligned columns, with two spaces between the columns. The cells of the result are
 * `printable`.
 */
export function tableOf(cells: readonly (readonly string[])[]): string[] {
  const rows = cells.map((row) => row.map(printable));
  const widthOf = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const widths = rows[0]?.map((_, column) => widthOf(column)) ?? [];
  return rows.map((row) =>
    row.reduce((line, cell, column) => `${line}${cell.padEnd(widths[column] ?? 0)}  `, '').trimEnd(),
  );
}
