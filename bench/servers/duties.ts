/**
 * What every answer of the service has beside its work: a rate by address, a request id, a log line that is written
 * at once, and some fifteen headers. A bare server has the same, or none of it (`DUTIES=none`).
 */
export const hasDuties = process.env.DUTIES !== 'none';

/** Without these the answer would say something else. */
const NEEDED = ['content-type', 'content-encoding', 'location'];

/** Takes the headers of the service; returns those that a bare server answers with. */
export function headersOf(all: Record<string, string>): Record<string, string> {
  if (hasDuties) return all;
  return Object.fromEntries(Object.entries(all).filter(([name]) => NEEDED.includes(name)));
}
