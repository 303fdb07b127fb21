/**
 * Who a request counts as (contract §4, "Client address"): the socket's address, or behind trusted
 * proxies the rightmost untrusted entry of `X-Forwarded-For`. IPv6 counts by /64.
 */
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = [Address, number];

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

/**
 * Takes the trusted addresses and ranges; returns a function from the socket's address and the
 * `X-Forwarded-For` header (all its lines joined by commas) to the client's address.
 */
export function clientAddressReader(
  trusted: readonly string[],
): (peer: string, forwardedFor: string | undefined) => ClientAddress {
  const ranges = trusted.map(parseRange).filter((range) => range !== undefined);
  // The same few proxies send everything: the last one is not parsed again.
  let last = { peer: '', socket: parseAddress(''), isTrusted: false };
  return (peer, forwardedFor) => {
    if (peer !== last.peer) {
      const socket = parseAddress(peer);
      last = { peer, socket, isTrusted: socket !== undefined && isWithin(socket, ranges) };
    }
    const { socket, isTrusted } = last;
    if (socket === undefined) return { key: 'unknown', ignoredForwardedFor: false };
    if (forwardedFor === undefined) return { key: keyOf(socket), ignoredForwardedFor: false };
    if (!isTrusted) return { key: keyOf(socket), ignoredForwardedFor: true };
    return {
      key: keyOf(rightmostUntrusted(socket, forwardedFor, ranges)),
      ignoredForwardedFor: false,
    };
  };
}

/** At an entry that is no address the search ends, and the last address before it counts. */
function rightmostUntrusted(socket: Address, forwardedFor: string, ranges: Range[]): Address {
  let client = socket;
  for (const entry of forwardedFor.split(',').reverse()) {
    const address = parseAddress(entry.trim());
    if (address === undefined) break;
    client = address;
    if (!isWithin(address, ranges)) break;
  }
  return client;
}

function parseAddress(text: string): Address | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  const plain = text.replace(/%.*$/s, '');
  return ipaddr.IPv6.isValid(plain) ? unmapped(ipaddr.IPv6.parse(plain)) : undefined;
}

function unmapped(address: ipaddr.IPv6): Address {
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

function parseRange(text: string): Range | undefined {
  const address = parseAddress(text);
  if (address !== undefined) return [address, address.kind() === 'ipv4' ? 32 : 128];
  if (!ipaddr.isValidCIDR(text)) return undefined;
  const [network, bits] = ipaddr.parseCIDR(text);
  const isMapped = network instanceof ipaddr.IPv6 && network.isIPv4MappedAddress() && bits >= 96;
  return isMapped ? [network.toIPv4Address(), bits - 96] : [network, bits];
}

function isWithin(address: Address, ranges: readonly Range[]): boolean {
  return ranges.some(
    ([network, bits]) => network.kind() === address.kind() && address.match(network, bits),
  );
}

function keyOf(address: Address): string {
  if (address instanceof ipaddr.IPv4) return address.toString();
  return `${address.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}
