/** Every environment variable: how it is read, and what is said of it (contract §2). */
import { z } from 'zod';
import { normalize, parseEmail } from './forms/fields.ts';
import { isAddressOrRange } from './http/client-address.ts';

const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;
const SIGNING_KEY_MINIMUM_BYTES = 32;

const line = z.string().refine((text) => !/\p{Cc}/u.test(text), 'must be one line');
const list = z.string().transform((text) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);
const port = z
  .string()
  .regex(/^\d{1,5}$/, 'must be a port number')
  .transform(Number)
  .refine((n) => n >= 1 && n <= 65_535, 'must be from 1 to 65535');
const webUrl = z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' });
const whole = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, 'must be a whole number')
    .transform(Number)
    .refine((n) => n >= least && n <= most, `must be from ${least} to ${most}`);
const base64 = (text: string) =>
  BASE64.test(text) ? Buffer.from(text, 'base64') : Buffer.alloc(0);
const isWebUrl = (text: string) => /^https?:$/.test(URL.parse(text)?.protocol ?? '');
const hasUserInfo = (text: string) => {
  const { username = '', password = '' } = URL.parse(text) ?? {};
  return username !== '' || password !== '';
};
/** Something that people read. */
const name = line.max(200).refine((text) => text.trim() !== '', 'must not be blank');

type Variable = { schema: z.ZodType; secret?: boolean; meaning: string; default: string };

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
    schema: webUrl.transform((text) => text.replace(/(?<!\/)\/+$/, '')),
    meaning: 'the public address of the site; every link is made from it',
    default: 'http://HOST:PORT (required in production)',
  },
  DATA_DIR: {
    schema: line,
    meaning: 'the folder of everything the service keeps',
    default: './data',
  },
  DATABASE_URL: {
    schema: z
      .string()
      .regex(/^(sqlite:.+|postgres(ql)?:\/\/.+)$/s, 'must be sqlite:PATH or postgres://…')
      .refine(
        (text) => text.startsWith('sqlite:') || URL.canParse(text),
        'must be an address that can be read',
      ),
    secret: true,
    meaning: 'sqlite:PATH, or postgres://… when scaled out',
    default: 'sqlite:DATA_DIR/service.db',
  },
  REDIS_URL: {
    schema: z.url({ protocol: /^rediss?$/, error: 'must be a redis:// address' }),
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
    schema: z
      .string()
      .refine(
        (text) => text === 'inbox:' || isWebUrl(text),
        'must be inbox:, or an http:// or https:// address',
      )
      .refine((text) => !hasUserInfo(text), 'must hold no user name and password'),
    secret: true,
    meaning: 'where accepted submissions go: inbox:, or an https:// address',
    default: 'inbox: (in production: none, and submissions answer 503)',
  },
  UPSTREAM_SECRET: {
    schema: z
      .string()
      .startsWith('whsec_', 'must be whsec_ and base64')
      .transform((text) => base64(text.slice(6)))
      .refine((key) => key.length > 0, 'must be whsec_ and base64'),
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
      .transform((keys) => keys.map(base64))
      .refine(
        (keys) => keys.length > 0 && keys.every((key) => key.length >= SIGNING_KEY_MINIMUM_BYTES),
        'must be base64 keys of at least 32 bytes, comma-separated',
      ),
    secret: true,
    meaning: 'base64 keys of at least 32 bytes, comma-separated; the first signs, all verify',
    default: 'generated in DATA_DIR (in production: none, and preview and execute answer 503)',
  },
  AGENT_CREDENTIALS_FILE: {
    schema: line,
    meaning: 'the JSON file of agent credentials',
    default: 'DATA_DIR/agents.json (in production: none is valid)',
  },
  SMTP_URL: {
    schema: z
      .url({ protocol: /^smtps?$/, error: 'must be an smtp:// or smtps:// address' })
      .refine((text) => URL.parse(text)?.hostname !== '', 'must name a host'),
    secret: true,
    meaning: 'smtp://user:password@host:port of the mail server',
    default: 'files in DATA_DIR/mail (in production: none, and /api/subscribe answers 503)',
  },
  MAIL_FROM: {
    schema: line
      .transform(normalize)
      .refine(
        (text) => parseEmail(text.replace(/^[^<]*<([^<>]*)>$/, '$1')) !== undefined,
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
    schema: line.refine(
      (text) => parseEmail(text) !== undefined || /^\+?[\d ()./-]{3,40}$/.test(text),
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
    schema: list.refine(
      (items) => items.every(isAddressOrRange),
      'must be addresses or CIDR ranges, comma-separated',
    ),
    meaning: 'proxies whose X-Forwarded-For is believed: addresses and CIDR ranges',
    default: 'none: the client address is the socket’s',
  },
  ALLOWED_ORIGINS: {
    schema: list.refine(
      (items) => items.every((item) => URL.canParse(item) && new URL(item).origin === item),
      'must be origins like https://example.com, comma-separated',
    ),
    meaning: 'origins whose pages may call the form routes with fetch',
    default: 'none',
  },
  LOG_LEVEL: {
    schema: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    meaning: 'how much is logged',
    default: 'info',
  },
  METRICS_PORT: {
    schema: port,
    meaning: 'serves /metrics for Prometheus on a port of its own',
    default: 'off',
  },
} as const satisfies Record<string, Variable>;

export type VariableName = keyof typeof variables;
