/** Structured logs: one JSON line for each event, without anything that a caller sent. */
import { type Logger, pino } from 'pino';
import { isoTime, systemClock } from './clock.ts';
import { terminalLine } from './terminal-log.ts';

/** The logger that modules get. */
export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>;

/** Limit for log lines in memory that can't be written yet. Standard output on a full disk must not end the process. */
const BUFFER_CHARACTERS = 1_000_000;

/**
 * Opens the log on standard output. Each line is written before the call returns, so that a killed process loses no
 * line. An error is logged with only its type, message, stack and code. On a terminal the lines are text for a person.
 */
export function openLog(level: string, onTerminal = false): Logger {
  const output = openOutput(1);
  return pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${isoTime(systemClock.now().getTime())}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError },
    },
    onTerminal ? { write: (line) => output.write(terminalLine(line)) } : output,
  );
}

/**
 * Opens a file for lines, by its path or its descriptor. While the disk is full, the first lines stay in memory until
 * the disk has room again.
 */
export function openOutput(dest: number | string) {
  const output = pino.destination({ dest, sync: true, minLength: 1, maxLength: BUFFER_CHARACTERS });
  // A failed write has nowhere to be reported.
  output.on('error', () => {});
  // A dropped line attempts no write. Without this flush, the output would not notice that the disk has room again.
  output.on('drop', () => output.flush());
  return output;
}

/** Returns an error's properties for the log. Other properties of a database error can contain a whole row. */
function describeError(error: unknown) {
  if (!(error instanceof Error)) return { type: typeof error };
  const { type, message, stack } = pino.stdSerializers.err(error);
  return { type, message, stack, code: (error as NodeJS.ErrnoException).code };
}
