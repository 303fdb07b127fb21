/** Writes the lines of the log, on a full disk and to a slow reader as well. */
import { writeSync } from 'node:fs';
import type { Clock } from './clock.ts';

/** Limit for lines in memory that can't be written yet. */
const KEPT_BYTES = 1_000_000;

const RETRY_MS = 1_000;

/**
 * Returns the function that writes lines to a file descriptor. A line is written before the call returns. While the
 * disk is full or the reader of a pipe is behind, the first lines stay in memory and later ones are dropped. Each
 * further line, or a second without one, repeats the attempt. A failure has nowhere to be reported.
 *
 * A full pipe must not block the process, so the descriptor must be non-blocking. `process.stdout` makes its own so.
 */
export function lineWriter(fd: number, clock: Pick<Clock, 'after'>): (line: string) => void {
  let kept: Buffer = Buffer.alloc(0);
  let isRetryDue = false;
  const write = () => {
    try {
      while (kept.length > 0) kept = kept.subarray(writeSync(fd, kept));
    } catch {
      if (isRetryDue) return;
      isRetryDue = true;
      clock.after(RETRY_MS, () => {
        isRetryDue = false;
        write();
      });
    }
  };
  return (line) => {
    const written = kept.length === 0 ? writeSome(fd, line) : 0;
    const missing = Buffer.byteLength(line) - written;
    if (missing === 0) return;
    if (kept.length === 0 || kept.length + missing <= KEPT_BYTES)
      kept = Buffer.concat([kept, Buffer.from(line).subarray(written)]);
    write();
  };
}

/** Returns the number of bytes that the file descriptor took, which is 0 after a failure. */
function writeSome(fd: number, line: string): number {
  try {
    return writeSync(fd, line);
  } catch {
    return 0;
  }
}
