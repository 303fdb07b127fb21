/**
 * Who a request counts as (contract §4, "Client address"): the socket's address, or behind trusted
 * proxies the rightmost untrusted entry of `X-Forwarded-For`. IPv6 counts by /64.
 */
import { BlockList, isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { keepingLast } from '../once.ts';

/** The address as it is compared, and the key that the rate limits count it by. */
type Address = { family: 'ipv4' | 'ipv6'; text: string; key: string };

type Range = { network: string; bits: number; family: 'ipv4' | 'ipv6' };

export type ClientAddress = {
  /** The key the rate limits count by: an IPv4 address, or an IPv6 network of 64 bits. */
  key: string;
  /** A peer outside `TRUST_PROXY` sent `X-Forwarded-For`, which was ignored. */
  ignoredForwardedFor: boolean;
};

/** Whether a text is an address or a CIDR range, as `TRUST_PROXY` takes them. */
export function isAddressOrRange(text: string): boolean {
  return parseRange(text) !== undefined;
}

/** Whether a range, IPv4-mapped ones too, holds every address of its family. */
export function isEveryAddress(text: string): boolean {
  return parseRange(text)?.bits === 0;
}

/**
 * Takes the trusted addresses and ranges; returns a function from the socket's address and the
 * `X-Forwarded-For` header (all its lines joined by commas) to the client's address.
 */
export function clientAddressReader(
  trusted: readonly string[],
): (peer: string, forwardedFor: string | undefined) => ClientAddress {
  // One for each family, or `::/0` would hold every IPv4 address as well.
  const proxies = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const { network, bits, family } of trusted
    .map(parseRange)
    .filter((of) => of !== undefined)) {
    proxies[family].addSubnet(network, bits, family);
  }
  const isTrusted = ({ text, family }: Address) => proxies[family].check(text, family);
  // The same few proxies send everything.
  const socketOf = keepingLast((peer: string) => {
    const address = parseAddress(peer);
    return { address, isProxy: address !== undefined && isTrusted(address) };
  });
  return (peer, forwardedFor) => {
    const { address: socket, isProxy } = socketOf(peer);
    if (socket === undefined) return { key: 'unknown', ignoredForwardedFor: false };
    if (forwardedFor === undefined) return { key: socket.key, ignoredForwardedFor: false };
    if (!isProxy) return { key: socket.key, ignoredForwardedFor: true };
    const { key } = rightmostUntrusted(socket, forwardedFor, isTrusted);
    return { key, ignoredForwardedFor: false };
  };
}

/** At an entry that is no address the search ends, and the last address before it counts. */
function rightmostUntrusted(
  socket: Address,
  forwardedFor: string,
  isTrusted: (address: Address) => boolean,
): Address {
  let client = socket;
  for (const entry of forwardedFor.split(',').reverse()) {
    const address = parseAddress(withoutPort(entry.trim()));
    if (address === undefined) break;
    client = address;
    if (!isTrusted(address)) break;
  }
  return client;
}

/** `address:port` and `[address]:port`, as some gateways write an entry (contract §4); no IPv4 in brackets. */
const WITH_PORT = /^(?:(\d[\d.]*)|\[([\da-f]{0,4}:[^\]]*)\]):\d{1,5}$/i;

/** A port is no part of the address; an entry without one is returned as it is. */
function withoutPort(entry: string): string {
  const [, ipv4, ipv6] = WITH_PORT.exec(entry) ?? [];
  return ipv4 ?? ipv6 ?? entry;
}

/** The length of a prefix. */
const BITS = /^(?:0|[1-9]\d{0,2})$/;

/** Node takes an IPv4 address in one spelling alone, so it is its own key. */
function parseAddress(text: string): Address | undefined {
  if (isIPv4(text)) return { family: 'ipv4', text, key: text };
  const plain = withoutZone(text);
  if (!isIPv6(plain)) return undefined;
  const address = ipaddr.IPv6.parse(plain);
  if (address.isIPv4MappedAddress()) return parseAddress(address.toIPv4Address().toString());
  const network = address.parts.slice(0, 4).map((part) => part.toString(16));
  return { family: 'ipv6', text: address.toString(), key: `${network.join(':')}::/64` };
}

/** `fe80::1%eth0`: which interface it is reached by is no part of the address. */
function withoutZone(text: string): string {
  return text.replace(/%.*$/s, '');
}

/** One address, or `address/bits`. Octal, hexadecimal and shortened addresses are none: to others they are other ones. */
function parseRange(text: string): Range | undefined {
  const [written = '', length, ...more] = text.split('/');
  const address = parseAddress(written);
  if (address === undefined || more.length > 0) return undefined;
  const { family } = address;
  const whole = written.includes(':') ? 128 : 32;
  if (length !== undefined && !(BITS.test(length) && Number(length) <= whole)) return undefined;
  const bits = Number(length ?? whole);
  if (family === 'ipv6' || whole === 32) return { network: address.text, bits, family };
  // Written IPv4-mapped: what is wider than all of those holds other addresses, too.
  return bits >= 96
    ? { network: address.text, bits: bits - 96, family }
    : { network: withoutZone(written), bits, family: 'ipv6' };
}
