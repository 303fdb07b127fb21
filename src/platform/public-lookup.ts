/** A DNS lookup for addresses that a caller named (reference §26.5). It refuses every address that is not public. */
import { lookup as systemLookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/**
 * Networks of this machine, of a local network, or without a single receiver. `BlockList` compares an IPv4-mapped
 * address with the networks of IPv4.
 */
const networks: readonly [network: string, bits: number][] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
  // Addresses that contain an address of IPv4: compatible, translated, 6to4 and Teredo.
  ['::', 96],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['2001::', 32],
  ['2002::', 16],
  ['100::', 64],
  ['fc00::', 7],
  ['fe80::', 9],
  ['ff00::', 8],
];

const notPublic = new BlockList();
for (const [network, bits] of networks) notPublic.addSubnet(network, bits, familyOf(network));

/** Returns true for an address that anybody on the internet can reach. */
export function isPublicAddress(address: string): boolean {
  return isIP(address) !== 0 && !address.includes('%') && !notPublic.check(address, familyOf(address));
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return address.includes(':') ? 'ipv6' : 'ipv4';
}

/**
 * Returns a lookup function for connections. The lookup fails if one of the addresses of a name is not public. A
 * connection gets the addresses that were checked, so no second lookup can replace them.
 */
export function publicLookup(lookup: LookupFunction = systemLookup): LookupFunction {
  return (hostname, options, callback) =>
    lookup(hostname, { ...options, all: true }, (error, found) => {
      const addresses = Array.isArray(found) ? found : [];
      const [first] = addresses;
      if (error !== null) return callback(error, '');
      if (first === undefined || !addresses.every(({ address }) => isPublicAddress(address))) {
        return callback(new Error('The name has no address, or an address that is not public.'), '');
      }
      if (options.all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
}
