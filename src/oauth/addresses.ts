/**
 * The addresses that a host may name (reference §26.5): its metadata document, and the address to which a person
 * returns. An address is compared as text, so an address with a second spelling is refused.
 */

/** The path and query are visible ASCII without `#` and `\`, which browsers read as `/`. */
const RETURN = /^https:\/\/([a-z0-9.-]+)(?:[/?][!"$-[\]-~]*)?$/;
const DOCUMENT = /^https:\/\/([a-z0-9.-]+)(?::\d{1,5})?\/[!"$-[\]-~]*$/;
/** A program on the person's computer. Its port is free (RFC 8252 §7.3). */
const LOOPBACK = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(?::\d{1,5})?((?:[/?][!"$-[\]-~]*)?)$/;

/** Returns true for the address of a metadata document on one of the hosts. */
export function isDocumentAddress(address: string, hosts: readonly string[]): boolean {
  const host = DOCUMENT.exec(address)?.[1] ?? '';
  return hosts.includes(host) && URL.parse(address)?.href === address;
}

/** Returns true for an address to which a person may return: https on one of the hosts, or a loopback address. */
export function isReturnAddress(address: string, hosts: readonly string[]): boolean {
  if (!URL.canParse(address)) return false;
  const host = RETURN.exec(address)?.[1];
  return host === undefined ? LOOPBACK.test(address) : hosts.includes(host) && new URL(address).hostname === host;
}

/** Returns true if a document lists this address. A loopback address matches with any port. */
export function isListed(address: string, listed: readonly string[]): boolean {
  if (listed.includes(address)) return true;
  const plain = withoutPort(address);
  return plain !== undefined && listed.some((each) => withoutPort(each) === plain);
}

/** Returns a loopback address without its port, or undefined for any other address. */
function withoutPort(address: string): string | undefined {
  return LOOPBACK.exec(address)?.slice(1).join('');
}

/** Returns the host of an address for people, with a port only for a program on their computer. */
export function hostOf(address: string): string {
  const { protocol, host, hostname } = new URL(address);
  return protocol === 'http:' ? host : hostname;
}

/** Returns an address with more parameters in its query. The address itself stays as it is. */
export function withParameters(address: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(parameters).filter((each): each is [string, string] => each[1] !== undefined);
  return `${address}${address.includes('?') ? '&' : '?'}${new URLSearchParams(given)}`;
}
