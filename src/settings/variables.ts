/** Every environment variable: how it is read, and what is said of it (contract §2). */
import * as v from '@badrap/valita';
import { normalize, parseEmail } from '../forms/fields.ts';
import { isAddressOrRange } from '../http/client-address.ts';
import { routes } from '../routes.ts';
import { parseSender } from './sender.ts';
import { isSigningKey, SIGNING_KEY_BYTES } from './signing-keys.ts';

const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

const text = v.string();
const line = text.assert((given) => !/\p{Cc}/u.test(given), 'must be one line');
const list = text.map((given) =>
  given
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);
const port = text
  .assert((given) => /^\d{1,5}$/.test(given), 'must be a port number')
  .map(Number)
  .assert((n) => n >= 1 && n <= 65_535, 'must be from 1 to 65535');
const address = (protocol: RegExp, wrong: string) =>
  text
    .map((given) => given.trim())
    .assert((given) => protocol.test(URL.parse(given)?.protocol ?? ''), wrong);
const whole = (least: number, most: number) =>
  text
    .assert((given) => /^\d{1,9}$/.test(given), 'must be a whole number')
    .map(Number)
    .assert((n) => n >= least && n <= most, `must be from ${least} to ${most}`);
const base64 = (given: string) =>
  BASE64.test(given) ? Buffer.from(given, 'base64') : Buffer.alloc(0);
const isWebUrl = (given: string) => /^https?:$/.test(URL.parse(given)?.protocol ?? '');
const hasUserInfo = (given: string) => {
  const { username = '', password = '' } = URL.parse(given) ?? {};
  return username !== '' || password !== '';
};
/** Something that people read. */
const name = line
  .assert((given) => [...given].length <= 200, 'must have at most 200 characters')
  .assert((given) => given.trim() !== '', 'must not be blank');

type Variable = { schema: v.Type; secret?: boolean; meaning: string; default: string };

/** Every variable: how it is read, and what `.env.example` and `npm run settings` say of it. */
export const variables = {
  NODE_ENV: {
    schema: line,
    meaning: 'production turns the local defaults off',
    default: 'local mode',
  },
  HOST: { schema: line, meaning: 'the address to listen on', default: '127.0.0.1' },
  PORT: { schema: port, meaning: 'the port to listen on', default: '3000' },
  BASE_URL: {
    schema: line
      .map((given) => given.trim())
      .assert(
        (given) => /^https?:\/\/[^/\\]/i.test(given) && URL.canParse(given),
        'must be an http:// or https:// address',
      )
      .assert((given) => !hasUserInfo(given), 'must hold no user name and password')
      .assert((given) => !/[?#]/.test(given), 'must hold no query and no fragment')
      .map((given) => given.replace(/(?<!\/)\/+$/, '')),
    meaning: 'the public address of the site; every link is made from it',
    default: 'http://HOST:PORT (required in production)',
  },
  DATA_DIR: {
    schema: line,
    meaning: 'the folder of everything the service keeps',
    default: './data',
  },
  DATABASE_URL: {
    schema: text
      .assert(
        (given) => /^(sqlite:.+|postgres(ql)?:\/\/.+)$/s.test(given),
        'must be sqlite:PATH or postgres://…',
      )
      .assert(
        (given) => given.startsWith('sqlite:') || URL.canParse(given),
        'must be an address that can be read',
      ),
    secret: true,
    meaning: 'sqlite:PATH, or postgres://… when scaled out',
    default: 'sqlite:DATA_DIR/service.db',
  },
  REDIS_URL: {
    schema: address(/^rediss?:$/, 'must be a redis:// address'),
    secret: true,
    meaning: 'redis://… shares the rate limits between instances',
    default: 'limits in this process',
  },
  RECEIPT_RETENTION_DAYS: {
    schema: whole(1, 36_500),
    meaning: 'for how many days receipts and the consent in them are kept (1 to 36500)',
    default: '400',
  },
  UPSTREAM_URL: {
    schema: text
      .assert(
        (given) => given === 'inbox:' || isWebUrl(given),
        'must be inbox:, or an http:// or https:// address',
      )
      .assert((given) => !hasUserInfo(given), 'must hold no user name and password'),
    secret: true,
    meaning: 'where accepted submissions go: inbox:, or an https:// address',
    default: 'inbox: (in production: none, and submissions answer 503)',
  },
  UPSTREAM_SECRET: {
    schema: text
      .assert((given) => given.startsWith('whsec_'), 'must be whsec_ and base64')
      .map((given) => base64(given.slice(6)))
      .assert((key) => key.length > 0, 'must be whsec_ and base64'),
    secret: true,
    meaning: 'whsec_<base64>: signs every forward (Standard Webhooks)',
    default: 'unsigned',
  },
  UPSTREAM_TIMEOUT_MS: {
    schema: whole(100, 60_000),
    meaning: 'how long one forward may take, in milliseconds (100 to 60000)',
    default: '10000',
  },
  PREVIEW_SIGNING_KEYS: {
    schema: list
      .map((keys) => keys.map(base64))
      .assert(
        (keys) => keys.length > 0 && keys.every(isSigningKey),
        `must be base64 keys of at least ${SIGNING_KEY_BYTES} bytes, comma-separated`,
      ),
    secret: true,
    meaning: `base64 keys of at least ${SIGNING_KEY_BYTES} bytes, comma-separated; the first signs, all verify`,
    default: 'generated in DATA_DIR (in production: none, and preview and execute answer 503)',
  },
  AGENT_CREDENTIALS_FILE: {
    schema: line,
    meaning: 'the JSON file of agent credentials',
    default: 'DATA_DIR/agents.json (in production: none is valid)',
  },
  SMTP_URL: {
    schema: address(/^smtps?:$/, 'must be an smtp:// or smtps:// address').assert(
      (given) => URL.parse(given)?.hostname !== '',
      'must name a host',
    ),
    secret: true,
    meaning: 'smtp://user:password@host:port of the mail server',
    default: `files in DATA_DIR/mail (in production: none, and ${routes.subscribeNewsletter.path} answers 503)`,
  },
  MAIL_FROM: {
    schema: line
      .map(normalize)
      .assert(
        (given) => parseEmail(parseSender(given).address) !== undefined,
        'must be an e-mail address',
      ),
    meaning: 'the sender of confirmation messages',
    default: 'required with SMTP_URL',
  },
  MAIL_PER_MINUTE: {
    schema: whole(1, 1_000_000),
    meaning: 'all confirmation messages together; the rest waits in the outbox',
    default: '60',
  },
  OPERATOR_NAME: { schema: name, meaning: 'who runs the site', default: 'Service' },
  OPERATOR_CONTACT: {
    schema: line.assert(
      (given) => parseEmail(given) !== undefined || /^\+?[\d ()./-]{3,40}$/.test(given),
      'must be an e-mail address or a telephone number',
    ),
    meaning: 'an e-mail address or telephone number shown to people',
    default: 'none',
  },
  CONTENT_DIR: {
    schema: line,
    meaning: 'a folder of your own pages, words, colours and logo, laid over ours',
    default: 'ours alone',
  },
  CONTRACTOR_ID: {
    schema: name,
    meaning: 'the contractor on the platform, as the upstream knows them',
    default: 'sample-contractor (required in production with UPSTREAM_URL)',
  },
  CONTRACTOR_NAME: {
    schema: name,
    meaning: 'the name people are shown for them',
    default: 'Sample Painting Company (required in production with UPSTREAM_URL)',
  },
  TRUST_PROXY: {
    schema: list.assert(
      (items) => items.every(isAddressOrRange),
      'must be addresses or CIDR ranges, comma-separated',
    ),
    meaning: 'proxies whose X-Forwarded-For is believed: addresses and CIDR ranges',
    default: 'none: the client address is the socket’s',
  },
  ALLOWED_ORIGINS: {
    schema: list.assert(
      (items) => items.every((item) => URL.canParse(item) && new URL(item).origin === item),
      'must be origins like https://example.com, comma-separated',
    ),
    meaning: 'origins whose pages may call the form routes with fetch',
    default: 'none',
  },
  LOG_LEVEL: {
    schema: v.union(...LOG_LEVELS.map((level) => v.literal(level))),
    meaning: 'how much is logged',
    default: 'info',
  },
  METRICS_PORT: {
    schema: port,
    meaning: `serves ${routes.metrics.path} for Prometheus on a port of its own`,
    default: 'off',
  },
} as const satisfies Record<string, Variable>;

export type VariableName = keyof typeof variables;
