/**
 * Every environment variable, validated together (contract §2). A bad value stops the process
 * before it listens: one line per fault, which names the variable and never prints a secret.
 */
import { readFileSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import type { Infer } from '@badrap/valita';
import { checkShape } from './shape.ts';
import { type VariableName, variables } from './variables.ts';

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
  receiptRetentionDays: number;
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
  /** What an operator lays over the pages, words, colours and logo of the site. */
  contentDir: string | undefined;
  contractor: { id: string; name: string } | undefined;
  trustProxy: string[];
  allowedOrigins: string[];
  logLevel: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';
  metricsPort: number | undefined;
};

export type SettingsResult =
  | { kind: 'valid'; settings: Settings }
  | { kind: 'invalid'; faults: string[] };

export type LoadedEnvironment = {
  environment: Environment;
  /** Where a variable came from; undefined where it is not set. */
  origins: (name: string) => 'environment' | '.env' | undefined;
};

/** Takes the folder that may hold a `.env`; what is set in the real environment wins over it. */
export function loadEnvironment(folder: string): LoadedEnvironment {
  const own: Environment = process.env;
  const file: Environment = readEnvFile(join(folder, '.env'));
  return {
    environment: { ...file, ...own },
    origins: (name) =>
      own[name] !== undefined ? 'environment' : file[name] !== undefined ? '.env' : undefined,
  };
}

function readEnvFile(path: string): Environment {
  try {
    return parseEnv(readFileSync(path, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new Error('The .env file can’t be read; check its permissions.', { cause: error });
  }
}

/** The name under which a secret variable is given as a file. */
export function fileVariable(name: VariableName): string | undefined {
  return 'secret' in variables[name] ? `${name}_FILE` : undefined;
}

/**
 * Takes the whole environment, and whether a start reads it: that needs the credentials file that is
 * named, which a command may be about to make. Returns the settings, or one sentence per fault (contract §2).
 */
export function readSettings(
  environment: Environment,
  reader: 'start' | 'command' = 'command',
): SettingsResult {
  const faults: string[] = [];
  const given = new Map<VariableName, unknown>();
  for (const name of Object.keys(variables) as VariableName[]) {
    const text = textOf(environment, name, faults);
    if (text === undefined) continue;
    const checked = checkShape(variables[name].schema, text);
    if (checked.kind === 'valid') given.set(name, checked.value);
    else faults.push(`${name} ${checked.why}.`);
  }
  const settings = assemble(given, faults);
  const named = given.has('AGENT_CREDENTIALS_FILE') ? settings.credentialsFile : undefined;
  if (reader === 'start' && named !== undefined && !isReadable(named)) {
    faults.push('AGENT_CREDENTIALS_FILE names a file that can’t be read.');
  }
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

function isReadable(path: string): boolean {
  try {
    readFileSync(path);
    return true;
  } catch {
    return false;
  }
}

/** Applies the defaults of the mode, and the rules that tie variables together. */
function assemble(given: Map<VariableName, unknown>, faults: string[]): Settings {
  type Value<N extends VariableName> = Infer<(typeof variables)[N]['schema']>;
  const get = <N extends VariableName>(name: N) => given.get(name) as Value<N> | undefined;
  const required = (name: VariableName, when: string) => {
    if (!given.has(name) && !faults.some((fault) => fault.startsWith(`${name} `)))
      faults.push(`${name} is required ${when}.`);
  };
  const local = get('NODE_ENV') !== 'production';
  const host = get('HOST') ?? '127.0.0.1';
  const listenPort = get('PORT') ?? 3000;
  const dataDir = resolve(get('DATA_DIR') ?? './data');
  const contentDir = get('CONTENT_DIR');
  const upstreamUrl = get('UPSTREAM_URL') ?? (local ? 'inbox:' : undefined);
  const databaseUrl = get('DATABASE_URL') ?? `sqlite:${join(dataDir, 'service.db')}`;
  const smtpUrl = get('SMTP_URL');
  const from = get('MAIL_FROM');
  const contractor = contractorOf(get('CONTRACTOR_ID'), get('CONTRACTOR_NAME'), local);

  if (!local) required('BASE_URL', 'in production');
  if (smtpUrl !== undefined) required('MAIL_FROM', 'with SMTP_URL');
  if (get('METRICS_PORT') === listenPort) faults.push('METRICS_PORT must be another than PORT.');
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
    receiptRetentionDays: get('RECEIPT_RETENTION_DAYS') ?? 400,
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
          ? {
              kind: 'files',
              folder: join(dataDir, 'mail'),
              from: from ?? 'service@localhost.invalid',
            }
          : { kind: 'none' },
    mailPerMinute: get('MAIL_PER_MINUTE') ?? 60,
    operator: { name: get('OPERATOR_NAME') ?? 'Service', contact: get('OPERATOR_CONTACT') },
    contentDir: contentDir === undefined ? undefined : resolve(contentDir),
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
