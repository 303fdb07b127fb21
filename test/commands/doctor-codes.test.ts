/** The cause that the doctor names for the code of an error, and for a status. The port that it tries. */
import { describe, expect, test } from 'vitest';
import { causeOfError, causeOfStatus } from '../../src/commands/doctor/causes.ts';
import { portOf } from '../../src/commands/doctor/probes.ts';

const server = { setting: 'SOME_URL', withTls: 'tls://', withoutTls: 'plain://' };

const CODES: readonly [says: string, remedy: string, codes: readonly string[]][] = [
  ['Nothing listens', 'Start the server, or correct the host and the port in SOME_URL.', ['ECONNREFUSED']],
  ['can’t be resolved', 'Correct the host in SOME_URL, or check the name servers', ['ENOTFOUND', 'EAI_AGAIN', 'EDNS']],
  [
    'Nothing answers',
    'Correct the host and the port in SOME_URL, or open the firewall.',
    ['ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'],
  ],
  [
    'closed the connection',
    'See the log of the server, and check the port in SOME_URL.',
    ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'],
  ],
  [
    'does not trust the certificate',
    'NODE_EXTRA_CA_CERTS',
    [
      ...['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_GET_ISSUER_CERT'],
      ...['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'CERT_UNTRUSTED'],
    ],
  ],
  ['not valid today', 'Renew the certificate, and check the clock', ['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID']],
  ['for another host', 'Write the host of the certificate in SOME_URL.', ['ERR_TLS_CERT_ALTNAME_INVALID']],
  [
    'The port does not support TLS.',
    'Replace tls:// with plain:// in SOME_URL, or correct the port.',
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG'],
  ],
];
const cases = CODES.flatMap(([says, remedy, codes]) => codes.map((code) => [code, says, remedy] as const));

describe('causeOfError', () => {
  test.each(cases)('names for %s a cause with “%s” and a remedy with “%s”', (code, says, remedy) => {
    expect(causeOfError(code, server)).toEqual({
      says: expect.stringContaining(says),
      remedy: expect.stringContaining(remedy),
    });
  });

  test.each(cases)('names no cause for a code of which %s is only a part', (code) => {
    expect([causeOfError(`${code}_`, server), causeOfError(`_${code}`, server)]).toEqual([undefined, undefined]);
  });

  test('names no cause for an unknown or missing code', () => {
    expect([causeOfError('EUNKNOWN', server), causeOfError(undefined, server)]).toEqual([undefined, undefined]);
  });
});

test.each([
  [103, 'Redirects are never followed.', 'Set UPSTREAM_URL to the target'],
  [300, 'Redirects are never followed.', 'Set UPSTREAM_URL to the target'],
  [303, 'Redirects are never followed.', 'UPSTREAM_REDIRECT=confirmed'],
  [402, 'The receiver refuses the event.', 'See the log of the receiver. The receiver must also answer'],
  [403, 'The receiver refuses this service.', 'UPSTREAM_HEADERS'],
  [404, 'There is nothing at this address.', 'Correct the path of UPSTREAM_URL, or turn the receiver on.'],
  [405, 'This address does not accept POST.', 'Correct the path of UPSTREAM_URL.'],
  [407, 'A proxy requires authentication.', 'Set UPSTREAM_URL to an address that needs no proxy.'],
  [410, 'The receiver no longer uses this address.', 'Set UPSTREAM_URL to the current address of the receiver.'],
  [429, 'The receiver accepts no more requests right now.', 'Wait a minute and try again'],
  [499, 'The receiver refuses the event.', 'See the log of the receiver. The receiver must also answer'],
  [500, 'The receiver failed.', 'See the log of the receiver.'],
  [501, 'The receiver failed.', 'See the log of the receiver.'],
  [502, 'A proxy in front of the receiver', 'Start the receiver, and see the log of its proxy.'],
  [503, 'A proxy in front of the receiver', 'Start the receiver, and see the log of its proxy.'],
  [504, 'A proxy in front of the receiver', 'Start the receiver, and see the log of its proxy.'],
  [505, 'The receiver failed.', 'See the log of the receiver.'],
])('causeOfStatus names for %i the cause “%s” and a remedy with “%s”', (status, says, remedy) => {
  expect(causeOfStatus(status)).toEqual({
    says: expect.stringContaining(says),
    remedy: expect.stringContaining(remedy),
  });
});

test.each([
  ['http://crm.example/hook', { host: 'crm.example', port: 80 }],
  ['http://crm.example:8080/hook', { host: 'crm.example', port: 8080 }],
  ['http://[::1]:8080/', { host: '::1', port: 8080 }],
  ['http://127.0.0.1/[x]', { host: '127.0.0.1', port: 80 }],
])('portOf returns host and port of %s', (address, port) => {
  expect(portOf(address, 80)).toEqual(port);
});
