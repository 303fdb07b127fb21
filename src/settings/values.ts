/** How the text of a variable is read (contract §2): each says what is wrong, never what was given. */
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import * as v from '@badrap/valita';
import { bounds } from '../forms/bounds.ts';
import { normalize, parseEmail } from '../forms/fields.ts';
import { isAddressOrRange, isEveryAddress } from '../http/client-address.ts';
import { parseConfirmationMinimum } from './confirmation-minimum.ts';
import { parseReceiptKeys } from './receipt-keys.ts';
import { parseSender } from './sender.ts';
import { isSigningKey, SIGNING_KEY_BYTES } from './signing-keys.ts';

const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;
/** Fewer can be tried out by anybody; below Standard Webhooks' 24 the doctor warns. */
const UPSTREAM_SECRET_MINIMUM_BYTES = 8;
/** The command for one. */
export const NEW_RECEIPT_KEY = 'openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256';
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

const text = v.string();
export const line = text.assert((given) => !/\p{Cc}/u.test(given), 'must be one line');
/** An address (of IPv6 without brackets, with its zone where it has one), or a name. */
export const host = line.assert(
  (given) =>
    isIP(given) !== 0 || (/^[\p{L}\p{N}_.-]+$/u.test(given) && URL.canParse(`http://${given}`)),
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
const address = (protocol: RegExp, wrong: string) =>
  text
    .map((given) => given.trim())
    .assert((given) => protocol.test(URL.parse(given)?.protocol ?? ''), wrong);
export const whole = (least: number, most: number) =>
  number(/^\d{1,9}$/, 'a whole number', least, most);
const base64 = (given: string) =>
  BASE64.test(given) ? Buffer.from(given, 'base64') : Buffer.alloc(0);
const isWebUrl = (given: string) => /^https?:$/.test(URL.parse(given)?.protocol ?? '');
const hasUserInfo = (given: string) => {
  const { username = '', password = '' } = URL.parse(given) ?? {};
  return username !== '' || password !== '';
};

const hasReadableUserInfo = (given: string) => {
  const { username = '', password = '' } = URL.parse(given) ?? {};
  try {
    for (const part of [username, password]) decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
};

/** A misspelt one would start local mode, with an agent's token of its own, where people come. */
export const mode = text
  .assert(
    (given) => /^(production|development|test)$/.test(given),
    'must be production, development, test or empty',
  )
  .map((given) => (given === 'production' ? 'production' : 'local'));

/** Something that people read. */
export const name = line
  .assert((given) => [...given].length <= 200, 'must have at most 200 characters')
  .assert((given) => given.trim() !== '', 'must not be blank');

/** Pages and documents link from the root of their host: below a path half of the links would be wrong. */
export const baseUrl = line
  .map((given) => given.trim())
  .assert(
    (given) => /^https?:\/\/[^/\\]/i.test(given) && URL.canParse(given),
    'must be an http:// or https:// address',
  )
  .assert((given) => !hasUserInfo(given), 'must hold no user name and password')
  .assert((given) => !/[?#]/.test(given), 'must hold no query and no fragment')
  .map((given) => given.replace(/\/$/, ''))
  .assert((given) => /^https?:\/\/[^/\\]+$/i.test(given), 'must hold no path');

/** Of a service that nothing stands in front of; a zone is this machine's own, and stands in no link. */
export const ownBaseUrl = ({ host, port }: { host: string; port: number }) =>
  `http://${host.includes(':') ? `[${host.replace(/%.*/, '')}]` : host}:${port}`;

export const databaseUrl = text
  .assert(
    (given) => /^(sqlite:.+|postgres(ql)?:\/\/.+)$/s.test(given),
    'must be sqlite:PATH or postgres://…',
  )
  .assert(
    (given) => given.startsWith('sqlite:') || URL.canParse(given),
    'must be an address that can be read',
  );

export const redisUrl = address(/^rediss?:$/, 'must be a redis:// address')
  .assert((given) => URL.parse(given)?.hostname !== '', 'must name a host')
  .assert(
    (given) => /^\/?\d*$/.test(URL.parse(given)?.pathname ?? ''),
    'must have no path but the number of a database',
  )
  .assert(hasReadableUserInfo, 'must have a user name and a password in which % is written %25');

export const upstreamUrl = text
  .assert(
    (given) => given === 'inbox:' || isWebUrl(given),
    'must be inbox:, or an http:// or https:// address',
  )
  .assert((given) => !hasUserInfo(given), 'must hold no user name and password');

export const upstreamSecret = text
  .map((given) => (given.startsWith('whsec_') ? base64(given.slice(6)) : Buffer.alloc(0)))
  .assert(
    (key) => key.length >= UPSTREAM_SECRET_MINIMUM_BYTES,
    'must be whsec_ and base64 of at least 8 bytes, better 32; this makes one: echo "whsec_$(openssl rand -base64 32)"',
  );

export const signingKeys = list
  .map((keys) => keys.map(base64))
  .assert(
    (keys) => keys.length > 0 && keys.every(isSigningKey),
    `must be base64 keys of at least ${SIGNING_KEY_BYTES} bytes, comma-separated; this makes one: openssl rand -base64 ${SIGNING_KEY_BYTES}`,
  )
  .assert(
    (keys) => keys.every((key) => key.some((byte) => byte !== 0)),
    `must hold no key of zeros; this makes a good one: openssl rand -base64 ${SIGNING_KEY_BYTES}`,
  );

export const receiptKeys = text.chain((given) => {
  const keys = parseReceiptKeys(given);
  const wanted =
    'must be PEM blocks of P-256 alone, PRIVATE KEY (PKCS #8) or PUBLIC KEY; this makes one:';
  return keys === undefined ? v.err(`${wanted} ${NEW_RECEIPT_KEY}`) : v.ok(keys);
});

export const smtpUrl = address(/^smtps?:$/, 'must be an smtp:// or smtps:// address').assert(
  (given) => URL.parse(given)?.hostname !== '',
  'must name a host',
);

export const sender = line
  .map(normalize)
  .assert(
    (given) => parseEmail(parseSender(given).address) !== undefined,
    'must be an e-mail address',
  );

/** One bare address, by the form's own rule and in its spelling. */
export const mailbox = line
  .map((given) => parseEmail(normalize(given)) ?? '')
  .assert(
    (given) => given !== '' && given.length <= bounds.emailLength,
    'must be one e-mail address, without a name',
  );

export const contact = line.assert(
  (given) => parseEmail(given) !== undefined || /^\+?[\d ()./-]{3,40}$/.test(given),
  'must be an e-mail address or a telephone number',
);

export const proxies = list
  .assert(
    (items) => items.every(isAddressOrRange),
    'must be addresses or CIDR ranges, comma-separated',
  )
  .assert(
    (items) => !items.some(isEveryAddress),
    'must not be every address: whoever sends X-Forwarded-For could choose what they count as',
  );

export const origins = list.assert(
  (items) => items.every((item) => URL.canParse(item) && new URL(item).origin === item),
  'must be origins like https://example.com, comma-separated',
);

/** A part that can be turned off. */
export const onOrOff = v.union(v.literal('on'), v.literal('off'));

/** Asked of the platform, which has the names, only where one is given. */
export const timeZone = line.assert((given) => {
  try {
    return Intl.DateTimeFormat('en', { timeZone: given }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}, 'must be the IANA name of a time zone, as Europe/Berlin');

export const logLevel = v.union(...LOG_LEVELS.map((level) => v.literal(level)));

export const confirmationMinimum = text.chain((given) => {
  const minimum = parseConfirmationMinimum(given);
  return minimum === undefined
    ? v.err(
        'must be agent, page or page_email, or pairs as homeowner_quote=page_email,newsletter=page',
      )
    : v.ok(minimum);
});
