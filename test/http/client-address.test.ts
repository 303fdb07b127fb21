import { describe, expect, test } from 'vitest';
import { clientAddressReader, isAddressOrRange } from '../../src/http/client-address.ts';

const proxies = ['10.0.0.0/8', '192.0.2.1', '2001:db8:aaaa::/48'];

describe('contract §4: the client address', () => {
  test.each([
    ['the socket where no header came', '203.0.113.9', undefined, '203.0.113.9'],
    ['the socket where its peer is not trusted', '203.0.113.9', '198.51.100.1', '203.0.113.9'],
    [
      'the rightmost untrusted entry',
      '10.0.0.1',
      '1.1.1.1, 198.51.100.7, 10.2.3.4',
      '198.51.100.7',
    ],
    ['the leftmost entry where all are trusted', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    [
      'the last address before an entry that is none',
      '10.0.0.1',
      '198.51.100.7, unknown, 10.0.0.9',
      '10.0.0.9',
    ],
    [
      'the socket where the first entry read is none',
      '10.0.0.1',
      '198.51.100.7, garbage',
      '10.0.0.1',
    ],
    ['an entry with a port, without it', '10.0.0.1', '1.2.3.4:5678', '1.2.3.4'],
    ['the mapped one with a port', '10.0.0.1', '[::ffff:1.2.3.4]:5678', '1.2.3.4'],
    ['IPv6 with a port, by its /64', '10.0.0.1', '[::1]:5678', '0:0:0:0::/64'],
    ['IPv6 with a zone and a port', '10.0.0.1', '[fe80::1%eth0]:65535', 'fe80:0:0:0::/64'],
    ['through trusted ones with ports', '10.0.0.1', '1.2.3.4:1, 10.2.3.4:80', '1.2.3.4'],
    ['unbracketed IPv6 as it is written', '10.0.0.1', '2001:db8:1:2::1:443', '2001:db8:1:2::/64'],
    ['no entry with an empty port', '10.0.0.1', '1.2.3.4:', '10.0.0.1'],
    ['no entry with a port that is none', '10.0.0.1', '1.2.3.4:http', '10.0.0.1'],
    ['no entry with a port of six digits', '10.0.0.1', '1.2.3.4:123456', '10.0.0.1'],
    ['no entry with two ports', '10.0.0.1', '1.2.3.4:1:2', '10.0.0.1'],
    ['no bracketed entry without a port', '10.0.0.1', '[::1]', '10.0.0.1'],
    ['no bracketed IPv4', '10.0.0.1', '[1.2.3.4]:5678', '10.0.0.1'],
    ['no shortened address with a port', '10.0.0.1', '1.2.3:5678', '10.0.0.1'],
    ['an IPv4-mapped peer as IPv4', '::ffff:10.0.0.1', '::ffff:198.51.100.7', '198.51.100.7'],
    ['IPv6 by its /64', '192.0.2.1', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['IPv6 with a zone', 'fe80::1%eth0', undefined, 'fe80:0:0:0::/64'],
    ['through a trusted IPv6 proxy', '2001:db8:aaaa::1', '198.51.100.7', '198.51.100.7'],
    ['no entry with a zone that has none', '10.0.0.1', '198.51.100.7%eth0', '10.0.0.1'],
    ['the empty header as the socket', '10.0.0.1', '', '10.0.0.1'],
  ])('is %s', (_name, peer, forwardedFor, key) => {
    expect(clientAddressReader(proxies)(peer, forwardedFor).key).toBe(key);
  });

  test('behind proxies whose range is written IPv4-mapped', () => {
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
  ])('%s is no range', (text) => {
    expect(isAddressOrRange(text)).toBe(false);
  });

  test('a range of IPv6 holds no IPv4 address, however wide it is', () => {
    const read = clientAddressReader(['::/0']);
    expect(read('10.1.2.3', '198.51.100.7').key).toBe('10.1.2.3');
    expect(read('2001:db8::1', '198.51.100.7').key).toBe('198.51.100.7');
  });

  test('two addresses of one /64 are one client, of two /64 two', () => {
    const read = clientAddressReader([]);
    expect(read('2001:db8::1', undefined)).toEqual(read('2001:db8::ffff:1', undefined));
    expect(read('2001:db8::1', undefined)).not.toEqual(read('2001:db8:0:1::1', undefined));
  });

  test('a header that was ignored is told of', () => {
    expect(clientAddressReader([])('203.0.113.9', '1.1.1.1').ignoredForwardedFor).toBe(true);
    expect(clientAddressReader(['203.0.113.9'])('203.0.113.9', '1.1.1.1').ignoredForwardedFor).toBe(
      false,
    );
  });
});
