/** Schemas of the variables' texts (reference §20.2). A message names the fault, but never repeats the given text. */
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import * as v from '@badrap/valita';
import { bounds } from '../forms/bounds.ts';
import { normalize, parseEmail } from '../forms/fields.ts';
import { isBlank } from '../forms/invisible-characters.ts';
import { isName, NAME_RULE } from '../forms/names.ts';
import { isAddressOrRange, isEveryAddress } from '../http/client-address.ts';
import { isTimeZone } from '../platform/clock.ts';
import { parseConfirmationMinimum } from './confirmation-minimum.ts';
import { parseSender } from './groups.ts';
import { parseReceiptKeys } from './receipt-keys.ts';
import { isSigningKey, SIGNING_KEY_BYTES } from './signing-keys.ts';

const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;
/**
 * Minimum length of a key in UPSTREAM_SECRET, because a shorter key can be guessed. The doctor warns below 24 bytes, the
 * minimum of Standard Webhooks.
 */
const UPSTREAM_SECRET_MINIMUM_BYTES = 8;
/** Maximum number of keys in UPSTREAM_SECRET: the keys before, during and after a change. */
const UPSTREAM_SECRETS_MAXIMUM = 3;
/** Command that makes a key for receipts. */
export const NEW_RECEIPT_KEY = 'openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256';

const text = v.string();
const trimmed = text.map((given) => given.trim());
export const line = text.assert((given) => !/\p{Cc}/u.test(given), 'must be one line');
/** An address (IPv6 without brackets, with or without a zone), or a name. */
export const host = line.assert(
  (given) => isIP(given) !== 0 || (/^[\p{L}\p{N}_.-]+$/u.test(given) && URL.canParse(`http://${given}`)),
  'must be an address of this machine, or its name',
);
export const path = line.map((given) => resolve(given));
const list = text.map((given) =>
  given
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);
const number = (digits: RegExp, what: string, least: number, most: number) =>
  text
    .assert((given) => digits.test(given), `must be ${what}`)
    .map(Number)
    .assert((n) => n >= least && n <= most, `must be from ${least} to ${most}`);
export const port = number(/^\d{1,5}$/, 'a port number', 1, 65_535);
export const whole = (least: number, most: number) => number(/^\d{1,9}$/, 'a whole number', least, most);
const base64 = (given: string) => (BASE64.test(given) ? Buffer.from(given, 'base64') : Buffer.alloc(0));
const isWebUrl = (given: string) => /^https?:$/.test(URL.parse(given)?.protocol ?? '');
/** Returns true if a URL has a user name or a password. Throws unless the text is a URL. */
export const hasUserInfo = (given: string) => {
  const { username, password } = new URL(given);
  return username !== '' || password !== '';
};

/** A name of a host in ASCII. The last label of an address consists of digits, the last label of a name does not. */
const HOST_NAME = /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)*[a-z](?:[a-z0-9-]*[a-z0-9])?$/;

const NOT_READABLE = 'must be a valid URL with a host and a port from 1 to 65535';
const NOT_ENCODED = 'must have a percent-encoded user name and password: / as %2F, # as %23, ? as %3F and % as %25';

/** A path with a query, which may hold `@`, as `?user=name@server` does. */
const PATH_WITH_QUERY = /^\/?[^/?#@]*\?[\w.]+=[^#]*$/s;

/**
 * Returns false if a user name or a password holds an invalid escape, or a character that ends the host. Passwords of
 * mail services hold `/`, and a URL would begin its path there.
 */
function hasEncodedUserInfo(given: string): boolean {
  const [, authority = '', behind = ''] = /:\/\/([^/?#]*)(.*)$/s.exec(given) ?? [];
  if (behind.includes('@') && !PATH_WITH_QUERY.test(behind)) return false;
  try {
    decodeURIComponent(authority.slice(0, Math.max(0, authority.lastIndexOf('@'))));
    return true;
  } catch {
    return false;
  }
}

/** Address of a server that begins with `SCHEME://`. The address may have a user name and a password. */
const address = (scheme: RegExp, wrong: string) =>
  trimmed
    .assert((given) => scheme.test(given), wrong)
    .assert(hasEncodedUserInfo, NOT_ENCODED)
    .assert((given) => URL.canParse(given), NOT_READABLE);

/**
 * A misspelt value is refused, because it would otherwise start local mode, with a token for agents, on a public
 * server.
 */
export const mode = text
  .assert((given) => /^(production|development|test)$/.test(given), 'must be production, development, test or empty')
  .map((given) => (given === 'production' ? 'production' : 'local'));

/** Text that is shown to people. */
export const name = line
  .map((given) => given.trim())
  .assert((given) => [...given].length <= 200, 'must have at most 200 characters')
  .assert((given) => !isBlank(given), 'must not be blank')
  .assert((given) => isName(200, given), `must ${NAME_RULE}`);

/** Pages and documents link from the root of their host, so below a path half of the links would be wrong. */
export const baseUrl = line
  .map((given) => given.trim())
  .assert((given) => /^https?:\/\/[^/\\]/i.test(given) && URL.canParse(given), 'must be an http:// or https:// address')
  .assert((given) => !hasUserInfo(given), 'must contain no user name or password')
  .assert((given) => !/[?#]/.test(given), 'must contain no query or fragment')
  .map((given) => given.replace(/\/$/, ''))
  .assert((given) => /^https?:\/\/[^/\\]+$/i.test(given), 'must contain no path');

/** Returns the base URL of a service without a proxy. A zone of IPv6 is valid on this machine only, so it is removed. */
export const ownBaseUrl = ({ host, port }: { host: string; port: number }) =>
  `http://${host.includes(':') ? `[${host.replace(/%.*/, '')}]` : host}:${port}`;

export const databaseUrl = text
  .assert((given) => /^(sqlite:.+|postgres(ql)?:\/\/.+)$/s.test(given), 'must be sqlite:PATH or postgres://…')
  .assert((given) => given.startsWith('sqlite:') || hasEncodedUserInfo(given), NOT_ENCODED)
  .assert((given) => given.startsWith('sqlite:') || URL.canParse(given), NOT_READABLE);

export const redisUrl = address(/^rediss?:\/\//i, 'must be a redis:// address')
  .assert((given) => new URL(given).hostname !== '', 'must name a host')
  .assert((given) => /^\/?\d*$/.test(new URL(given).pathname), 'must have no path except the number of a database');

export const upstreamUrl = text
  .assert((given) => given === 'inbox:' || isWebUrl(given), 'must be inbox:, or an http:// or https:// address')
  .assert((given) => !hasUserInfo(given), 'must contain no user name or password');

export const upstreamSecrets = list
  .map((keys) => keys.map((key) => (key.startsWith('whsec_') ? base64(key.slice(6)) : Buffer.alloc(0))))
  .assert(
    (keys) => keys.length > 0 && keys.every((key) => key.length >= UPSTREAM_SECRET_MINIMUM_BYTES),
    'must be whsec_ followed by base64 of at least 8 bytes, better 32, or up to three such keys, comma-separated. Create one with: echo "whsec_$(openssl rand -base64 32)"',
  )
  .assert((keys) => keys.length <= UPSTREAM_SECRETS_MAXIMUM, 'must have at most three keys')
  .assert(
    (keys) => keys.every((key, index) => !keys.slice(0, index).some((earlier) => earlier.equals(key))),
    'must not have a key twice',
  );

export const signingKeys = list
  .map((keys) => keys.map(base64))
  .assert(
    (keys) => keys.length > 0 && keys.every(isSigningKey),
    `must be base64 keys of at least ${SIGNING_KEY_BYTES} bytes, comma-separated. Create one with: openssl rand -base64 ${SIGNING_KEY_BYTES}`,
  )
  .assert(
    (keys) => keys.every((key) => key.some((byte) => byte !== 0)),
    `must contain no key of zeros only. Create a key with: openssl rand -base64 ${SIGNING_KEY_BYTES}`,
  );

export const receiptKeys = text.chain((given) => {
  // Files of environment variables hold no line breaks, so keys arrive with `\n` written out (reference §20.3).
  const keys = parseReceiptKeys(given.replaceAll(/\\r|\\n/g, '\n'));
  const wanted = 'must contain only PEM blocks of P-256: PRIVATE KEY (PKCS #8) or PUBLIC KEY. Create one with:';
  return keys === undefined ? v.err(`${wanted} ${NEW_RECEIPT_KEY}`) : v.ok(keys);
});

export const smtpUrl = address(/^smtps?:\/\//i, 'must be an smtp:// or smtps:// address').assert(
  (given) => new URL(given).hostname !== '',
  'must name a host',
);

export const sender = line
  .map((given) => normalize(given))
  .assert((given) => parseEmail(parseSender(given).address) !== undefined, 'must be an e-mail address');

/** One e-mail address without a name, validated and normalized as in forms. */
export const mailbox = line
  .map((given) => parseEmail(normalize(given, 'email')) ?? '')
  .assert((given) => given !== '' && given.length <= bounds.emailLength, 'must be one e-mail address, without a name');

/** Number of operators who can sign in by mail (reference §12.16). */
const OPERATORS_MAXIMUM = 20;

/** An empty item is a fault, because a name that is missing by mistake would lock its owner out. */
export const operators = line
  .map((given): readonly string[] => given.split(',').map((item) => parseEmail(normalize(item, 'email')) ?? ''))
  .assert(
    (items) =>
      items.length <= OPERATORS_MAXIMUM && items.every((item) => item !== '' && item.length <= bounds.emailLength),
    `must be 1 to ${OPERATORS_MAXIMUM} e-mail addresses without names, comma-separated`,
  )
  .assert((items) => new Set(items).size === items.length, 'must contain each address once');

/** A telephone number as people write it. */
export const TELEPHONE = /^\+?[\d ()./-]{3,40}$/;

export const contact = line.assert(
  (given) => parseEmail(given) !== undefined || TELEPHONE.test(given),
  'must be an e-mail address or a telephone number',
);

export const proxies = list
  .assert((items) => items.every(isAddressOrRange), 'must be addresses or CIDR ranges, comma-separated')
  .assert(
    (items) => !items.some(isEveryAddress),
    'must not cover every address, because any client could then choose its address in X-Forwarded-For',
  );

export const origins = list
  .assert(
    (items) => !items.some((item) => item.includes('*')),
    'must contain each origin in full. Wildcards such as https://*.example.com match nothing',
  )
  .assert(
    (items) => items.every((item) => URL.canParse(item) && new URL(item).origin === item),
    'must be origins like https://example.com, comma-separated',
  );

const oneOf = <const Value extends string>(...values: Value[]) => v.union(...values.map((value) => v.literal(value)));

export const redirectMeaning = oneOf('unconfirmed', 'confirmed');

/** An origin as browsers write it. Desktop programs have schemes of their own, and `file://` has no host. */
const isToolOrigin = (given: string) => {
  const url = URL.parse(given);
  return url !== null && given === `${url.protocol}//${url.host}` && !given.includes('*');
};

export const toolOrigins = list.assert(
  (items) => items.every(isToolOrigin),
  'must be origins like https://claude.ai or vscode-file://vscode-app, comma-separated, without a path or *',
);

/** Names only. A document's address must have the name of a host, which the system resolves. */
export const hostNames = list
  .map((names): readonly string[] => names)
  .assert(
    (names) =>
      names.length > 0 && names.every((name) => HOST_NAME.test(name) && URL.parse(`https://${name}`)?.host === name),
    'must be names of hosts in small letters, like claude.ai, comma-separated, without https:// and without a port',
  );

export const onOrOff = oneOf('on', 'off');

export const timeZone = line.assert(isTimeZone, 'must be the IANA name of a time zone, such as Europe/Berlin');

export const logLevel = oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent');

export const confirmationMinimum = text.chain((given) => {
  const minimum = parseConfirmationMinimum(given);
  return minimum === undefined
    ? v.err('must be agent, page or page_email, or pairs such as homeowner_quote=page_email,newsletter=page')
    : v.ok(minimum);
});
