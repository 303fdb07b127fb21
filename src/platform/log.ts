/** Structured logs: one JSON line for each event, without anything that a caller sent. */
import { type Logger, pino } from 'pino';
import { isoTime, systemClock } from './clock.ts';
import { lineWriter } from './log-output.ts';
import { terminalLine } from './terminal-log.ts';

/** The logger that modules get. */
export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>;

/**
 * Opens the log on standard output. Each line is written before the call returns, so that a killed process loses no
 * line. An error is logged with only its type, message, stack and code. On a terminal the lines are text for a person.
 */
export function openLog(level: string, onTerminal = false): Logger {
  const write = lineWriter(1, systemClock);
  return pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${isoTime(systemClock.now().getTime())}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError },
    },
    // pino's own destination needs twice the time, because it makes two buffers and an event of each line.
    { write: onTerminal ? (line) => write(terminalLine(line)) : write },
  );
}

/** Returns an error's properties for the log. Other properties of a database error can contain a whole row. */
function describeError(error: unknown) {
  if (!(error instanceof Error)) return { type: typeof error };
  const { type, message, stack } = pino.stdSerializers.err(error);
  return { type, message, stack, code: (error as NodeJS.ErrnoException).code };
}
