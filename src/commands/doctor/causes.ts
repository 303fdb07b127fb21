/** The usual cause of an answer or an error (reference §13.3). In each list, the first matching pattern is used. */
import type { Diagnosis } from './check.ts';

/** The setting that has a server's address, and the beginnings of an address with TLS and without TLS. */
export type Server = { setting: string; withTls: string; withoutTls: string };

/** Causes by code of a network or TLS error. `SETTING` stands for the name of the setting. */
const ERROR_CAUSES: readonly [code: RegExp, says: string, remedy: string][] = [
  [
    /^ECONNREFUSED$/,
    'Nothing listens at this address.',
    'Start the server, or correct the host and the port in SETTING.',
  ],
  [
    /^(ENOTFOUND|EAI_AGAIN|EDNS)$/,
    'The name of the host can’t be resolved.',
    'Correct the host in SETTING, or check the name servers of this machine.',
  ],
  [
    /^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/,
    'Nothing answers at this address.',
    'Correct the host and the port in SETTING, or open the firewall.',
  ],
  [
    /^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/,
    'The server closed the connection without an answer.',
    'See the log of the server, and check the port in SETTING.',
  ],
  [
    /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_GET_ISSUER_CERT(_LOCALLY)?|UNABLE_TO_VERIFY_LEAF_SIGNATURE|CERT_UNTRUSTED)$/,
    'This machine does not trust the certificate of the server.',
    'Set NODE_EXTRA_CA_CERTS in the environment (not in .env) to a PEM file of the certificate authority, or make the server send its whole chain.',
  ],
  [
    /^(CERT_HAS_EXPIRED|CERT_NOT_YET_VALID)$/,
    'The certificate of the server is not valid today.',
    'Renew the certificate, and check the clock of this machine.',
  ],
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID$/,
    'The certificate of the server is for another host.',
    'Write the host of the certificate in SETTING.',
  ],
];

/** Returns the cause of a network or TLS error by its code, or undefined for any other error. */
export function causeOfError(code = '', server: Server): Diagnosis | undefined {
  if (/^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/.test(code)) return tlsMismatch(server, false);
  const cause = ERROR_CAUSES.find(([pattern]) => pattern.test(code));
  return cause && { says: cause[1], remedy: cause[2].replace('SETTING', server.setting) };
}

/** Returns the cause if the port and the setting differ: only one of them uses TLS from the first byte. */
export function tlsMismatch({ setting, withTls, withoutTls }: Server, portSpeaksTls: boolean): Diagnosis {
  const [right, wrong] = portSpeaksTls ? [withTls, withoutTls] : [withoutTls, withTls];
  return {
    says: portSpeaksTls ? 'The port expects TLS from the first byte.' : 'The port does not support TLS.',
    remedy: `Replace ${wrong} with ${right} in ${setting}, or correct the port.`,
  };
}

const NOT_FOLLOWED = 'Redirects are never followed.';
const FINAL_ADDRESS = 'Set UPSTREAM_URL to the target of the redirect (curl -i shows it).';

/** Causes by status, in three digits, of an answer that does not confirm the test event. */
const STATUS_CAUSES: readonly [status: RegExp, says: string, remedy: string][] = [
  [
    /30[23]/,
    NOT_FOLLOWED,
    `${FINAL_ADDRESS} If the receiver answers a successful POST with this redirect, as Google Apps Script does, set UPSTREAM_REDIRECT=confirmed.`,
  ],
  [/^[123]/, NOT_FOLLOWED, FINAL_ADDRESS],
  [
    /40[13]/,
    'The receiver refuses this service.',
    'Put the headers that it requires, such as Authorization, into UPSTREAM_HEADERS. Check that it verifies with the same UPSTREAM_SECRET, then check the address in UPSTREAM_URL.',
  ],
  [/404/, 'There is nothing at this address.', 'Correct the path of UPSTREAM_URL, or turn the receiver on.'],
  [/405/, 'This address does not accept POST.', 'Correct the path of UPSTREAM_URL.'],
  [/407/, 'A proxy requires authentication.', 'Set UPSTREAM_URL to an address that needs no proxy.'],
  [/410/, 'The receiver no longer uses this address.', 'Set UPSTREAM_URL to the current address of the receiver.'],
  [
    /429/,
    'The receiver accepts no more requests right now.',
    'Wait a minute and try again, or raise the limit of the receiver.',
  ],
  [
    /^4/,
    'The receiver refuses the event.',
    'See the log of the receiver. The receiver must also answer the test event with 2xx.',
  ],
  [
    /50[234]/,
    'A proxy in front of the receiver can’t reach the receiver.',
    'Start the receiver, and see the log of its proxy.',
  ],
];

/** Returns the cause of an answer that does not confirm the test event. */
export function causeOfStatus(status: number): Diagnosis {
  const [, says = 'The receiver failed.', remedy = 'See the log of the receiver.'] =
    STATUS_CAUSES.find(([pattern]) => pattern.test(String(status))) ?? [];
  return { says, remedy };
}
