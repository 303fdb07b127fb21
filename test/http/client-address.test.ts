import { describe, expect, test } from 'vitest';
import { clientAddressReader, isAddressOrRange, isEveryAddress } from '../../src/http/client-address.ts';

const proxies = ['10.0.0.0/8', '192.0.2.1', '2001:db8:aaaa::/48'];

describe('client address (reference §3.4)', () => {
  test.each([
    ['the peer if there is no header', '203.0.113.9', undefined, '203.0.113.9'],
    ['the peer if it is not trusted', '203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['the rightmost untrusted entry', '10.0.0.1', '1.1.1.1, 198.51.100.7, 10.2.3.4', '198.51.100.7'],
    ['the leftmost entry if all are trusted', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['the last address before an invalid entry', '10.0.0.1', '198.51.100.7, unknown, 10.0.0.9', '10.0.0.9'],
    ['the peer if the rightmost entry is invalid', '10.0.0.1', '198.51.100.7, garbage', '10.0.0.1'],
    ['an entry without its port', '10.0.0.1', '1.2.3.4:5678', '1.2.3.4'],
    ['an IPv4-mapped entry without its port', '10.0.0.1', '[::ffff:1.2.3.4]:5678', '1.2.3.4'],
    ['the /64 of an IPv6 entry with a port', '10.0.0.1', '[::1]:5678', '0:0:0:0::/64'],
    ['the /64 of an IPv6 entry with a zone and a port', '10.0.0.1', '[fe80::1%eth0]:65535', 'fe80:0:0:0::/64'],
    ['the entry before trusted entries with ports', '10.0.0.1', '1.2.3.4:1, 10.2.3.4:80', '1.2.3.4'],
    ['the /64 of unbracketed IPv6, read without a port', '10.0.0.1', '2001:db8:1:2::1:443', '2001:db8:1:2::/64'],
    ['not an entry with an empty port', '10.0.0.1', '1.2.3.4:', '10.0.0.1'],
    ['not an entry with an invalid port', '10.0.0.1', '1.2.3.4:http', '10.0.0.1'],
    ['not an entry with a port of six digits', '10.0.0.1', '1.2.3.4:123456', '10.0.0.1'],
    ['not an entry with two ports', '10.0.0.1', '1.2.3.4:1:2', '10.0.0.1'],
    ['not a bracketed entry without a port', '10.0.0.1', '[::1]', '10.0.0.1'],
    ['not a bracketed IPv4 address', '10.0.0.1', '[1.2.3.4]:5678', '10.0.0.1'],
    ['not a shortened address with a port', '10.0.0.1', '1.2.3:5678', '10.0.0.1'],
    [
      'an IPv4-mapped entry behind an IPv4-mapped peer, as IPv4',
      '::ffff:10.0.0.1',
      '::ffff:198.51.100.7',
      '198.51.100.7',
    ],
    ['the /64 of an IPv6 peer', '192.0.2.1', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['the /64 of an IPv6 peer with a zone', 'fe80::1%eth0', undefined, 'fe80:0:0:0::/64'],
    ['the entry behind a trusted IPv6 proxy', '2001:db8:aaaa::1', '198.51.100.7', '198.51.100.7'],
    ['not an IPv4 entry with a zone', '10.0.0.1', '198.51.100.7%eth0', '10.0.0.1'],
    ['the peer if the header is empty', '10.0.0.1', '', '10.0.0.1'],
  ])('is %s', (_name, peer, forwardedFor, key) => {
    expect(clientAddressReader(proxies)(peer, forwardedFor).key).toBe(key);
  });

  test('is read from the header behind proxies whose range is IPv4-mapped', () => {
    const read = clientAddressReader(['::ffff:10.0.0.0/104']);
    expect(read('::ffff:10.1.2.3', '198.51.100.7').key).toBe('198.51.100.7');
    expect(read('10.1.2.3', '198.51.100.7').key).toBe('198.51.100.7');
    expect(read('11.1.2.3', '198.51.100.7').key).toBe('11.1.2.3');
  });

  test.each([
    '010.0.0.0/8',
    '10/8',
    '10.0/16',
    '0x0a.0.0.0/8',
    '167772160/8',
    '0177.0.0.1/32',
    '10.0.0.0/08',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/ 8',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '::ffff:010.0.0.0/104',
    '::/129',
    '/8',
    '10.0.0.1:80',
    '[::1]:80',
  ])('can’t have the invalid trusted range %s', (text) => {
    expect(isAddressOrRange(text)).toBe(false);
  });

  test.each(['10.0.0.1', '10.0.0.1/32', '0.0.0.0/0', '10.0.0.0/9', '2001:db8::', '::1/128', '::/0', '::ffff:0:0/96'])(
    'can have the trusted range %s',
    (text) => {
      expect(isAddressOrRange(text)).toBe(true);
    },
  );

  test.each([
    ['192.0.2.1', '192.0.2.1', '192.0.2.2'],
    ['192.0.2.2/31', '192.0.2.3', '192.0.2.1'],
    ['2001:db8::1', '2001:db8::1', '2001:db8::2'],
    ['2001:db8::2/127', '2001:db8::3', '2001:db8::1'],
    ['::ffff:192.0.2.2/127', '192.0.2.3', '192.0.2.1'],
    ['::ffff:0:0/96', '192.0.2.1', '::fffe:0:1'],
    ['::ffff:0:0/95', '::fffe:0:1', '::fffd:0:1'],
    ['::ffff:0:0%eth0/95', '::fffe:0:1', '192.0.2.1'],
    ['fe80::/64', 'fe80::1%eth0', 'fe80:0:0:1::1%eth0'],
    ['fe80::%eth0/64', 'fe80::1', 'fe80:0:0:1::1'],
  ])('is read from the header behind %s for the peer %s, but not for %s', (range, inside, outside) => {
    const read = clientAddressReader([range]);
    expect(read(inside, '198.51.100.7')).toEqual({ key: '198.51.100.7', ignoredForwardedFor: false });
    expect(read(outside, '198.51.100.7').ignoredForwardedFor).toBe(true);
  });

  test('is never read from the header because of an invalid range', () => {
    const read = clientAddressReader(['10/8', '192.0.2.1']);
    expect(read('10.0.0.1', '198.51.100.7').ignoredForwardedFor).toBe(true);
    expect(read('192.0.2.1', '198.51.100.7').ignoredForwardedFor).toBe(false);
  });

  test('is unknown for a peer without an address', () => {
    const read = clientAddressReader(proxies);
    for (const forwardedFor of [undefined, '198.51.100.7']) {
      expect(read('', forwardedFor)).toEqual({ key: 'unknown', ignoredForwardedFor: false });
    }
  });

  test('is the peer for an IPv4 peer, even if the IPv6 range ::/0 is trusted', () => {
    const read = clientAddressReader(['::/0']);
    expect(read('10.1.2.3', '198.51.100.7').key).toBe('10.1.2.3');
    expect(read('2001:db8::1', '198.51.100.7').key).toBe('198.51.100.7');
  });

  test('is the same for two IPv6 addresses in one /64, and different for two /64 networks', () => {
    const read = clientAddressReader([]);
    expect(read('2001:db8::1', undefined)).toEqual(read('2001:db8::ffff:1', undefined));
    expect(read('2001:db8::1', undefined)).not.toEqual(read('2001:db8:0:1::1', undefined));
  });

  test('comes with ignoredForwardedFor only if an untrusted peer sends the header', () => {
    expect(clientAddressReader([])('203.0.113.9', undefined).ignoredForwardedFor).toBe(false);
    expect(clientAddressReader([])('203.0.113.9', '1.1.1.1').ignoredForwardedFor).toBe(true);
    expect(clientAddressReader(['203.0.113.9'])('203.0.113.9', '1.1.1.1').ignoredForwardedFor).toBe(false);
  });
});

describe('isEveryAddress', () => {
  test.each(['0.0.0.0/0', '10.0.0.0/0', '::/0', '::ffff:0:0/96'])('returns true for %s', (range) => {
    expect(isEveryAddress(range)).toBe(true);
  });

  test.each(['0.0.0.0/1', '0.0.0.0', '::', '::/1', '::ffff:0:0/95', '::ffff:0:0/97', 'all', ''])(
    'returns false for %j',
    (range) => {
      expect(isEveryAddress(range)).toBe(false);
    },
  );
});
