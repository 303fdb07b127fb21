/**
 * Finds the client's address (reference §3.4): the address of the socket, or behind trusted proxies the rightmost
 * untrusted entry of `X-Forwarded-For`. Rate limits count IPv6 addresses by their /64 network.
 */
import { BlockList, isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { memoizeLast } from '../platform/lazy.ts';

/** An address in its canonical text, and its key for the rate limits. */
type Address = { family: 'ipv4' | 'ipv6'; text: string; key: string };

type Range = { network: string; bits: number; family: 'ipv4' | 'ipv6' };

export type ClientAddress = {
  /** Key of the rate limits: an IPv4 address, or an IPv6 network of 64 bits. */
  key: string;
  /** True if a peer outside `TRUST_PROXY` sent `X-Forwarded-For`, which was ignored. */
  ignoredForwardedFor: boolean;
};

/** Returns true for an address or a CIDR range, as in `TRUST_PROXY`. */
export function isAddressOrRange(text: string): boolean {
  return parseRange(text) !== undefined;
}

/** Returns true if a range contains every address of its family. `::ffff:0:0/96` contains every address of IPv4. */
export function isEveryAddress(text: string): boolean {
  return parseRange(text)?.bits === 0;
}

/**
 * Returns a function from the socket's address and `X-Forwarded-For` (its lines joined by commas) to the client's
 * address. `trusted` has the addresses and ranges of proxies.
 */
export function clientAddressReader(
  trusted: readonly string[],
): (peer: string, forwardedFor: string | undefined) => ClientAddress {
  // One list for each family, because `::/0` would otherwise include every IPv4 address.
  const proxies = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const { network, bits, family } of trusted.map(parseRange).filter((of) => of !== undefined)) {
    proxies[family].addSubnet(network, bits, family);
  }
  const isTrusted = ({ text, family }: Address) => proxies[family].check(text, family);
  // Most requests come from the same few proxies.
  const socketOf = memoizeLast((peer: string) => {
    const address = parseAddress(peer);
    return { address, isProxy: address !== undefined && isTrusted(address) };
  });
  return (peer, forwardedFor) => {
    const { address: socket, isProxy } = socketOf(peer);
    if (socket === undefined) return { key: 'unknown', ignoredForwardedFor: false };
    if (forwardedFor === undefined) return { key: socket.key, ignoredForwardedFor: false };
    if (!isProxy) return { key: socket.key, ignoredForwardedFor: true };
    return { key: rightmostUntrusted(socket, forwardedFor, isTrusted).key, ignoredForwardedFor: false };
  };
}

/** Searches from the right. A malformed entry ends the search, and the last address before that entry counts. */
function rightmostUntrusted(socket: Address, forwardedFor: string, isTrusted: (address: Address) => boolean): Address {
  let client = socket;
  for (const entry of forwardedFor.split(',').reverse()) {
    const address = parseAddress(withoutPort(entry.trim()));
    if (address === undefined) break;
    client = address;
    if (!isTrusted(address)) break;
  }
  return client;
}

/** `address:port` and `[address]:port`, as some gateways write an entry (reference §3.4). IPv4 has no brackets. */
const WITH_PORT = /^(?:(\d[\d.]*)|\[([\da-f]{0,4}:[^\]]*)\]):\d{1,5}$/i;

/** Removes the port of an entry, if there is one. */
function withoutPort(entry: string): string {
  const [, ipv4, ipv6] = WITH_PORT.exec(entry) ?? [];
  return ipv4 ?? ipv6 ?? entry;
}

/** Length of a prefix in bits, without leading zeros. */
const BITS = /^(?:0|[1-9]\d{0,2})$/;

/** Parses an address. Node accepts only one spelling of an IPv4 address, so the text of the address is its key. */
function parseAddress(text: string): Address | undefined {
  if (isIPv4(text)) return { family: 'ipv4', text, key: text };
  const plain = withoutZone(text);
  if (!isIPv6(plain)) return undefined;
  const address = ipaddr.IPv6.parse(plain);
  if (address.isIPv4MappedAddress()) return parseAddress(address.toIPv4Address().toString());
  const network = address.parts.slice(0, 4).map((part) => part.toString(16));
  return { family: 'ipv6', text: address.toString(), key: `${network.join(':')}::/64` };
}

/** Removes the interface of an address such as `fe80::1%eth0`. */
function withoutZone(text: string): string {
  return text.replace(/%.*/s, '');
}

/** Parses `address` or `address/bits`. Refuses octal, hexadecimal and short addresses, which are ambiguous. */
function parseRange(text: string): Range | undefined {
  const [written = '', length, ...more] = text.split('/');
  const address = parseAddress(written);
  if (address === undefined || more.length > 0) return undefined;
  const { family } = address;
  const whole = written.includes(':') ? 128 : 32;
  if (length !== undefined && !(BITS.test(length) && Number(length) <= whole)) return undefined;
  const bits = Number(length ?? whole);
  if (family === 'ipv6' || whole === 32) return { network: address.text, bits, family };
  // The range is IPv4-mapped. With fewer than 96 bits, it also contains other addresses, so it is a range of IPv6.
  return bits >= 96
    ? { network: address.text, bits: bits - 96, family }
    : { network: withoutZone(written), bits, family: 'ipv6' };
}
