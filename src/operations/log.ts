/** Structured logs: one JSON line an event, with nothing in it that a caller sent. */
import { type Logger, pino } from 'pino';
import { isoTime, systemClock } from '../clock.ts';

/** What the rooms log with. */
export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>;

/**
 * Writes to standard output.
 * Of an error only its type, message, stack and code are kept, and those of its causes.
 */
export function openLog(level: string): Logger {
  return pino({
    level,
    base: null,
    timestamp: () => `,"time":"${isoTime(systemClock.now().getTime())}"`,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: describeError },
  });
}

/** A database puts a whole row into what else an error of it has. */
function describeError(error: unknown) {
  if (!(error instanceof Error)) return { type: typeof error };
  const { type, message, stack } = pino.stdSerializers.err(error);
  return { type, message, stack, code: (error as NodeJS.ErrnoException).code };
}
