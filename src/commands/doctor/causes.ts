/** The usual cause of an answer or an error (reference §13.3). In each list, the first matching pattern is used. */
import type { Diagnosis } from './check.ts';

/** The setting that has a server's address, and the beginnings of an address with TLS and without TLS. */
export type Server = { setting: string; withTls: string; withoutTls: string };

/** Causes by code of a network or TLS error. `SETTING` stands for the name of the setting. */
const ERROR_CAUSES: readonly [code: RegExp, says: string, remedy: string][] = [
  [/^ECONNREFUSED$/, 'Nothing listens there.', 'Start that server, or correct the host and the port in SETTING.'],
  [
    /^(ENOTFOUND|EAI_AGAIN|EDNS)$/,
    'No such host is known.',
    'Correct the host in SETTING, or see to the name servers of this machine.',
  ],
  [
    /^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/,
    'Nothing answers there.',
    'Correct the host and the port in SETTING, or open the firewall between.',
  ],
  [
    /^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/,
    'It ended the connection without an answer.',
    'See the log of that server, and check the port in SETTING.',
  ],
  [
    /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_GET_ISSUER_CERT(_LOCALLY)?|UNABLE_TO_VERIFY_LEAF_SIGNATURE|CERT_UNTRUSTED)$/,
    'Its certificate is not trusted here.',
    'Set NODE_EXTRA_CA_CERTS to a PEM file of the authority that signed it, in the environment (not in .env), or have the server send its whole chain.',
  ],
  [
    /^(CERT_HAS_EXPIRED|CERT_NOT_YET_VALID)$/,
    'Its certificate is not valid today.',
    'Renew it on the server, and see to the clock of this machine.',
  ],
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID$/,
    'Its certificate is for another host.',
    'Write the host of the certificate in SETTING.',
  ],
];

/** Returns the cause of a network or TLS error by its code, or undefined for any other error. */
export function causeOfError(code = '', server: Server): Diagnosis | undefined {
  if (/^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/.test(code)) return tlsMismatch(server, false);
  const [, says, remedy] = ERROR_CAUSES.find(([pattern]) => pattern.test(code)) ?? [];
  return says && remedy ? { says, remedy: remedy.replace('SETTING', server.setting) } : undefined;
}

/** Returns the cause if the port and the setting differ: only one of them uses TLS from the first byte. */
export function tlsMismatch({ setting, withTls, withoutTls }: Server, portSpeaksTls: boolean): Diagnosis {
  const [right, wrong] = portSpeaksTls ? [withTls, withoutTls] : [withoutTls, withTls];
  return {
    says: portSpeaksTls ? 'That port speaks TLS from its first byte.' : 'That port speaks no TLS.',
    remedy: `Write ${right} for ${wrong} in ${setting}, or correct the port.`,
  };
}

const NOT_FOLLOWED = 'Redirects are never followed.';
const FINAL_ADDRESS = 'Set UPSTREAM_URL to the address that it leads to (curl -i shows it).';

/** Causes by status of an answer that does not confirm the test event. */
const STATUS_CAUSES: readonly [status: RegExp, says: string, remedy: string][] = [
  [
    /^30[23]$/,
    NOT_FOLLOWED,
    `${FINAL_ADDRESS} Where the receiver answers so to a POST that it has carried out, as Google Apps Script does, set UPSTREAM_REDIRECT=confirmed.`,
  ],
  [/^[123]/, NOT_FOLLOWED, FINAL_ADDRESS],
  [
    /^40[13]$/,
    'The receiver refuses this service.',
    'Check that UPSTREAM_SECRET is the one that the receiver verifies with, then the address in UPSTREAM_URL.',
  ],
  [/^404$/, 'Nothing is at that address.', 'Correct the path of UPSTREAM_URL, or turn the receiver on.'],
  [/^405$/, 'That address takes no POST.', 'Correct the path of UPSTREAM_URL.'],
  [/^407$/, 'A proxy on the way wants a sign-in.', 'Set UPSTREAM_URL to an address that is reached without it.'],
  [/^410$/, 'That address is no longer used.', 'Set UPSTREAM_URL to the receiver’s present address.'],
  [
    /^429$/,
    'The receiver takes no more at the moment.',
    'Wait a minute and try again, or raise the limit of the receiver.',
  ],
  [
    /^4/,
    'The receiver refuses the event.',
    'See the log of the receiver: it must answer 2xx to the test event as well.',
  ],
  [
    /^50[234]$/,
    'A proxy in front of the receiver does not reach it.',
    'Start the receiver, and see the log of its proxy.',
  ],
];

/** Returns the cause of an answer that does not confirm the test event. */
export function causeOfStatus(status: number): Diagnosis {
  const [, says = 'The receiver has failed.', remedy = 'See the log of the receiver.'] =
    STATUS_CAUSES.find(([pattern]) => pattern.test(String(status))) ?? [];
  return { says, remedy };
}
