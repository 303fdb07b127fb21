/** E-mail addresses as an operator writes them on a command line. */
import { normalize, parseEmail } from '../forms/fields.ts';

/** As rows have it, also rows of a version that took more before the `@`; undefined without one. */
export function addressAsStored(given: string): string | undefined {
  const written = normalize(given);
  const at = written.lastIndexOf('@');
  if (at < 1) return undefined;
  const domain = written.slice(at);
  // An `a` before it: only the domain is looked at, and spelt in ASCII.
  const ascii = parseEmail(`a${domain}`)?.slice(1) ?? domain.toLowerCase();
  return written.slice(0, at).toLowerCase() + ascii;
}
