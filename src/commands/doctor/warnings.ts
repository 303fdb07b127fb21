/** Warnings about settings and files that are valid but probably a mistake (reference §13.3). */
import { statSync } from 'node:fs';
import { processTimeZone } from '../../platform/clock.ts';
import { hasFacts } from '../../site/contractor.ts';
import { isThisMachine } from '../arguments.ts';
import type { CheckContext, Diagnosis } from './check.ts';

/**
 * Mode bits that cause a warning: any access of other users, and writing by the group. Reading by the group is allowed.
 */
const TOO_OPEN = 0o027;
/** Minimum length of a secret in Standard Webhooks. */
const STANDARD_SECRET_BYTES = 24;

/** Returns the warnings that a check adds because of the settings. */
export function settingsWarnings(
  check: string,
  { settings, send }: Pick<CheckContext, 'settings' | 'send'>,
): Diagnosis[] {
  const { mode, upstream, mail, operator, operators, operatorConsole, baseUrl, trustProxy, operatorTimeZone } =
    settings;
  const isProduction = mode === 'production';
  const receiver = upstream.kind === 'http' && (isProduction || send) ? upstream : undefined;
  const rows: readonly (readonly [check: string, applies: boolean, says: string, remedy: string])[] = [
    [
      'operator',
      isProduction && operator.name === 'Service',
      'Pages and messages call the operator “Service”.',
      'Set OPERATOR_NAME.',
    ],
    [
      'operator',
      isProduction && operator.contact === undefined,
      'Error pages show no contact to people.',
      'Set OPERATOR_CONTACT.',
    ],
    [
      'site',
      isProduction && !hasFacts(settings),
      'The card of the contractor shows no facts.',
      'Set CONTRACTOR_PLACE, CONTRACTOR_SINCE, CONTRACTOR_LICENSE or another fact (.env.example).',
    ],
    [
      'console',
      isProduction && operatorConsole === 'on' && operators.length === 0,
      'Operators need a shell on the server to sign in.',
      'Set OPERATORS to their e-mail addresses.',
    ],
    [
      'console',
      operatorConsole === 'off' && operators.length > 0,
      'OPERATORS is set nevertheless.',
      'Without a console, remove OPERATORS.',
    ],
    [
      'rate limits',
      // This service speaks HTTP only, so an https address means that a proxy is in front.
      isProduction && baseUrl.startsWith('https:') && trustProxy.length === 0,
      'All visitors share one rate limit, because TRUST_PROXY is not set.',
      'Set TRUST_PROXY to the addresses of the proxy: TRUST_PROXY=127.0.0.1',
    ],
    [
      'upstream',
      receiver?.secrets.length === 0,
      'Forwarded submissions are not signed.',
      'Set UPSTREAM_SECRET, so that the receiver can verify the sender.',
    ],
    ...(receiver?.secrets ?? []).map(
      (key, index, { length }) =>
        [
          'upstream',
          key.length < STANDARD_SECRET_BYTES,
          `${length === 1 ? '' : `Key ${index + 1} of `}UPSTREAM_SECRET is short.`,
          `Create a secret of at least ${STANDARD_SECRET_BYTES} bytes: echo "whsec_$(openssl rand -base64 32)"`,
        ] as const,
    ),
    [
      'upstream',
      isProduction && receiver !== undefined && isUnencrypted(receiver.url),
      'Submissions are sent without encryption.',
      'Set UPSTREAM_URL to an https: address.',
    ],
    [
      'clock',
      operatorTimeZone === undefined && processTimeZone() === undefined,
      'TZ is not a known time zone, so the service uses UTC.',
      'Set OPERATOR_TIME_ZONE, or TZ, to an IANA name such as Europe/Berlin.',
    ],
    [
      'mail',
      mail.kind === 'smtp' && exposesPassword(mail.url),
      'The mail password may be sent without TLS.',
      'Write smtps:// in SMTP_URL, or append ?requireTLS=true.',
    ],
  ];
  return rows.filter(([of, applies]) => of === check && applies).map(([, , says, remedy]) => ({ says, remedy }));
}

function isUnencrypted(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && !isThisMachine(hostname);
}

/**
 * Returns true if the password may be sent without TLS. Without `requireTLS`, anybody on the way can remove the
 * server's offer of STARTTLS.
 */
function exposesPassword(url: string): boolean {
  const { protocol, hostname, password, searchParams } = new URL(url);
  const isOn = (name: string) => ['true', '1'].includes(searchParams.get(name) ?? '');
  const isEncrypted = protocol === 'smtps:' || (isOn('requireTLS') && !isOn('ignoreTLS'));
  return password !== '' && !isEncrypted && !isThisMachine(hostname);
}

/** Returns a warning if other users have access to a file or folder. A missing file gives no warning. */
export function accessWarnings(path: string): Diagnosis[] {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
  if ((mode & TOO_OPEN) === 0) return [];
  return [{ says: `Other users can read or change ${path}.`, remedy: `chmod o-rwx,g-w ${path}` }];
}
