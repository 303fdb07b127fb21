/** Structured logs: one JSON line an event, with nothing in it that a caller sent. */
import { type DestinationStream, type Logger, pino } from 'pino';
import { type Clock, isoTime, systemClock } from '../clock.ts';

/** What the rooms log with. */
export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>;

/** How long a line may wait for others to be written with it: what a process that is killed can lose. */
const GATHERED_FOR_MS = 5;

/** What the drivers of containers read at once. */
const GATHERED_CHARACTERS = 16_384;

/** What is kept of lines that can't be written: standard output on a full disk must not end the process. */
const KEPT_CHARACTERS = 1_000_000;

/** Of lines so grave none waits. */
const AT_ONCE = pino.levels.values.warn ?? 0;

/**
 * Writes to standard output; lines below a warning some milliseconds later, together, and at the latest when the
 * process exits. Of an error only its type, message, stack and code are kept, and those of its causes.
 */
export function openLog(level: string): Logger {
  const gathered = gatherLines(openOutput(1), systemClock);
  process.on('exit', gathered.flush);
  return pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${isoTime(systemClock.now().getTime())}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError },
    },
    gathered,
  );
}

/**
 * Takes a file, or its descriptor; returns what writes to it at once. While it can't be written, the first lines are
 * kept, and written once there is room again.
 */
export function openOutput(dest: number | string) {
  const output = pino.destination({ dest, sync: true, minLength: 1, maxLength: KEPT_CHARACTERS });
  // There is nowhere to tell of it.
  output.on('error', () => {});
  // With no more room for it a line is not even tried by itself.
  output.on('drop', () => output.flush());
  return output;
}

/** Takes where lines go; returns what writes them there together, and at once from a warning on. */
export function gatherLines(destination: DestinationStream, clock: Pick<Clock, 'after'>) {
  let lines = '';
  let callOff: (() => void) | undefined;
  const flush = () => {
    callOff?.();
    callOff = undefined;
    if (lines === '') return;
    const written = lines;
    lines = '';
    destination.write(written);
  };
  return {
    [pino.symbols.needsMetadataGsym]: true as const,
    /** Of the line that is written next: pino says it. */
    lastLevel: 0,
    write(line: string) {
      lines += line;
      if (this.lastLevel >= AT_ONCE || lines.length >= GATHERED_CHARACTERS) flush();
      else callOff ??= clock.after(GATHERED_FOR_MS, flush);
    },
    flush,
  };
}

/** A database puts a whole row into what else an error of it has. */
function describeError(error: unknown) {
  if (!(error instanceof Error)) return { type: typeof error };
  const { type, message, stack } = pino.stdSerializers.err(error);
  return { type, message, stack, code: (error as NodeJS.ErrnoException).code };
}
