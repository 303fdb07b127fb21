/**
 * Every environment variable, validated together (contract §2). A bad value stops the process
 * before it listens: one line per fault, which names the variable and never prints a secret.
 */
import { readFileSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { z } from 'zod';
import { normalize, parseEmail } from './forms/fields.ts';
import { isAddressOrRange } from './http/client-address.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export type Settings = {
  mode: 'local' | 'production';
  host: string;
  port: number;
  /** Without a trailing slash. */
  baseUrl: string;
  dataDir: string;
  database: { kind: 'sqlite'; path: string } | { kind: 'postgres'; url: string };
  redisUrl: string | undefined;
  upstream:
    | { kind: 'none' }
    | { kind: 'inbox' }
    | { kind: 'http'; url: string; secret: Buffer | undefined };
  upstreamTimeoutMs: number;
  /** Empty: generated once in local mode, not configured in production. */
  previewSigningKeys: Buffer[];
  credentialsFile: string | undefined;
  mail:
    | { kind: 'none' }
    | { kind: 'files'; folder: string; from: string }
    | { kind: 'smtp'; url: string; from: string };
  mailPerMinute: number;
  operator: { name: string; contact: string | undefined };
  contractor: { id: string; name: string } | undefined;
  trustProxy: string[];
  allowedOrigins: string[];
  logLevel: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';
  metricsPort: number | undefined;
};

export type SettingsResult =
  | { kind: 'valid'; settings: Settings }
  | { kind: 'invalid'; faults: string[] };

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
const withoutUserInfo = (text: string) =>
  new URL(text).username === '' && new URL(text).password === '';

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
    schema: webUrl.transform((text) => text.replace(/\/+$/, '')),
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
      .regex(/^(sqlite:.+|postgres(ql)?:\/\/.+)$/s, 'must be sqlite:PATH or postgres://…'),
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
  UPSTREAM_URL: {
    schema: z
      .literal('inbox:')
      .or(webUrl.refine(withoutUserInfo, 'must hold no user name and password')),
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
    schema: z.url({ protocol: /^smtps?$/, error: 'must be an smtp:// or smtps:// address' }),
    secret: true,
    meaning: 'smtp://user:password@host:port of the mail server',
    default: 'files in DATA_DIR/mail (in production: none, and /api/subscribe answers 503)',
  },
  MAIL_FROM: {
    schema: line
      .transform(normalize)
      .refine(
        (text) => parseEmail(text.replace(/^.*<(.*)>$/s, '$1')) !== undefined,
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
  OPERATOR_NAME: { schema: line.max(200), meaning: 'who runs the site', default: 'Service' },
  OPERATOR_CONTACT: {
    schema: line.refine(
      (text) => parseEmail(text) !== undefined || /^\+?[\d ()./-]{3,40}$/.test(text),
      'must be an e-mail address or a telephone number',
    ),
    meaning: 'an e-mail address or telephone number shown to people',
    default: 'none',
  },
  CONTRACTOR_ID: {
    schema: line.max(200),
    meaning: 'the contractor on the platform, as the upstream knows them',
    default: 'sample-contractor (required in production with UPSTREAM_URL)',
  },
  CONTRACTOR_NAME: {
    schema: line.max(200),
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

/** The name under which a secret variable is given as a file. */
export function fileVariable(name: VariableName): string | undefined {
  return 'secret' in variables[name] ? `${name}_FILE` : undefined;
}

/** Takes the whole environment; returns the settings, or one sentence per fault (contract §2). */
export function readSettings(environment: Environment): SettingsResult {
  const faults: string[] = [];
  const given = new Map<VariableName, unknown>();
  for (const name of Object.keys(variables) as VariableName[]) {
    const text = textOf(environment, name, faults);
    if (text === undefined) continue;
    const parsed = variables[name].schema.safeParse(text);
    if (parsed.success) given.set(name, parsed.data);
    else faults.push(`${name} ${parsed.error.issues[0]?.message ?? 'is not valid'}.`);
  }
  const settings = assemble(given, faults);
  return faults.length === 0 ? { kind: 'valid', settings } : { kind: 'invalid', faults };
}

/** The text of a variable: its own, or its file's without the trailing line break; empty is unset. */
function textOf(
  environment: Environment,
  name: VariableName,
  faults: string[],
): string | undefined {
  const own = environment[name] || undefined;
  const fileName = fileVariable(name);
  const file = fileName === undefined ? undefined : environment[fileName] || undefined;
  if (file === undefined) return own;
  if (own !== undefined) {
    faults.push(`${name} and ${fileName} are both set; keep one of them.`);
    return undefined;
  }
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '');
  } catch {
    faults.push(`${fileName} names a file that can't be read.`);
    return undefined;
  }
}

/** Applies the defaults of the mode, and the rules that tie variables together. */
function assemble(given: Map<VariableName, unknown>, faults: string[]): Settings {
  type Value<N extends VariableName> = z.infer<(typeof variables)[N]['schema']>;
  const get = <N extends VariableName>(name: N) => given.get(name) as Value<N> | undefined;
  const required = (name: VariableName, when: string) => {
    if (!given.has(name) && !faults.some((fault) => fault.startsWith(`${name} `)))
      faults.push(`${name} is required ${when}.`);
  };
  const local = get('NODE_ENV') !== 'production';
  const host = get('HOST') ?? '127.0.0.1';
  const listenPort = get('PORT') ?? 3000;
  const dataDir = resolve(get('DATA_DIR') ?? './data');
  const upstreamUrl = get('UPSTREAM_URL') ?? (local ? 'inbox:' : undefined);
  const databaseUrl = get('DATABASE_URL') ?? `sqlite:${join(dataDir, 'service.db')}`;
  const smtpUrl = get('SMTP_URL');
  const from = get('MAIL_FROM');
  const contractor = contractorOf(get('CONTRACTOR_ID'), get('CONTRACTOR_NAME'), local);

  if (!local) required('BASE_URL', 'in production');
  if (smtpUrl !== undefined) required('MAIL_FROM', 'with SMTP_URL');
  if (!local && upstreamUrl !== undefined) {
    required('CONTRACTOR_ID', 'with UPSTREAM_URL');
    required('CONTRACTOR_NAME', 'with UPSTREAM_URL');
  }
  return {
    mode: local ? 'local' : 'production',
    host,
    port: listenPort,
    baseUrl: get('BASE_URL') ?? `http://${host.includes(':') ? `[${host}]` : host}:${listenPort}`,
    dataDir,
    database: databaseUrl.startsWith('sqlite:')
      ? { kind: 'sqlite', path: sqlitePath(databaseUrl) }
      : { kind: 'postgres', url: databaseUrl },
    redisUrl: get('REDIS_URL'),
    upstream:
      upstreamUrl === undefined
        ? { kind: 'none' }
        : upstreamUrl === 'inbox:'
          ? { kind: 'inbox' }
          : { kind: 'http', url: upstreamUrl, secret: get('UPSTREAM_SECRET') },
    upstreamTimeoutMs: get('UPSTREAM_TIMEOUT_MS') ?? 10_000,
    previewSigningKeys: get('PREVIEW_SIGNING_KEYS') ?? [],
    credentialsFile:
      get('AGENT_CREDENTIALS_FILE') ?? (local ? join(dataDir, 'agents.json') : undefined),
    mail:
      smtpUrl !== undefined && from !== undefined
        ? { kind: 'smtp', url: smtpUrl, from }
        : local
          ? { kind: 'files', folder: join(dataDir, 'mail'), from: from ?? 'service@localhost' }
          : { kind: 'none' },
    mailPerMinute: get('MAIL_PER_MINUTE') ?? 60,
    operator: { name: get('OPERATOR_NAME') ?? 'Service', contact: get('OPERATOR_CONTACT') },
    contractor,
    trustProxy: get('TRUST_PROXY') ?? [],
    allowedOrigins: get('ALLOWED_ORIGINS') ?? [],
    logLevel: get('LOG_LEVEL') ?? 'info',
    metricsPort: get('METRICS_PORT'),
  };
}

function contractorOf(
  id: string | undefined,
  name: string | undefined,
  local: boolean,
): Settings['contractor'] {
  if (local) return { id: id ?? 'sample-contractor', name: name ?? 'Sample Painting Company' };
  return id !== undefined && name !== undefined ? { id, name } : undefined;
}

function sqlitePath(url: string): string {
  const path = url.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, '');
  return isAbsolute(path) || path === ':memory:' ? path : resolve(path);
}
