/**
 * The work that the service does for every answer: a rate limit by address, a request id, an immediate log line, and
 * about fifteen headers. A bare server does all of this work, or nothing of it (`DUTIES=none`).
 */
export const hasDuties = process.env.DUTIES !== 'none';

/** Headers without which the answer would mean something else. */
const NEEDED = ['content-type', 'content-encoding', 'location'];

/** Returns the headers of a bare server's answer, which are selected from the headers of the service. */
export function headersOf(all: Record<string, string>): Record<string, string> {
  if (hasDuties) return all;
  return Object.fromEntries(Object.entries(all).filter(([name]) => NEEDED.includes(name)));
}
