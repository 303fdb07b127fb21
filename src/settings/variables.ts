/**
 * Every environment variable (contract §2). A new setting is one entry here, and its words in `.env.example`:
 * `npm run settings`, the type `Settings` and its reading are made from the entry.
 */
import { join, resolve } from 'node:path';
import type * as v from '@badrap/valita';
import { routes } from '../routes.ts';
import {
  type MinimumByAction,
  NO_MINIMUM,
  writeConfirmationMinimum,
} from './confirmation-minimum.ts';
import type { Groups, Known } from './groups.ts';
import { NO_RECEIPT_KEYS } from './receipt-keys.ts';
import { SIGNING_KEY_BYTES } from './signing-keys.ts';
import * as values from './values.ts';

type Minimum = { confirmationMinimum: MinimumByAction };

type Described = {
  /** It is never shown, and can be given as a file, `NAME_FILE`. */
  secret?: true;
  /** What `npm run settings` shows of it, where that is not just its value. */
  shown?: (settings: Known & Groups & Minimum) => string | undefined;
  /** What it is for, as `.env.example` says it. */
  meaning: string;
  /** What stands where it is not set, as `.env.example` says it. */
  default: string;
};

/** One that makes a setting together with others, in `groups.ts`, has no `setting` of its own. */
type Variable = Described & {
  schema: v.Type;
  setting?: string;
  otherwise?: (known: Known) => unknown;
};

type Words = Omit<Described, 'default'> & { default?: string };
type Setting<Name, T> = Described & {
  setting: Name;
  schema: v.Type;
  otherwise: (known: Known) => T;
};

/**
 * A variable that is one setting: the name of that, how its text is read, and what stands where it is not set (a
 * value, what is made of the settings before it, or nothing).
 */
function setting<const Name extends string, T>(
  name: Name,
  schema: v.Type<T>,
  entry: Words & { otherwise: NoInfer<T> | ((known: Known) => NoInfer<T>) },
): Setting<Name, T>;
function setting<const Name extends string, T>(
  name: Name,
  schema: v.Type<T>,
  entry: Words & { otherwise?: (known: Known) => NoInfer<T> | undefined },
): Setting<Name, T | undefined>;
function setting(name: string, schema: v.Type, entry: Words & { otherwise?: unknown }) {
  const { otherwise } = entry;
  const made = typeof otherwise === 'function' ? otherwise : () => otherwise;
  return { default: String(otherwise), ...entry, setting: name, schema, otherwise: made };
}

export const variables = {
  NODE_ENV: setting('mode', values.mode, {
    otherwise: 'local',
    shown: ({ mode }) => (mode === 'production' ? mode : 'local mode'),
    meaning: 'production turns the local defaults off; development and test leave them on',
    default: 'local mode',
  }),
  HOST: setting('host', values.host, {
    otherwise: '127.0.0.1',
    meaning: 'the address to listen on',
  }),
  PORT: setting('port', values.port, { otherwise: 3000, meaning: 'the port to listen on' }),
  /** Without a trailing slash. */
  BASE_URL: setting('baseUrl', values.baseUrl, {
    otherwise: values.ownBaseUrl,
    meaning: 'the public address of the site; every link is made from it',
    default: 'http://HOST:PORT (required in production)',
  }),
  DATA_DIR: setting('dataDir', values.path, {
    otherwise: () => resolve('./data'),
    meaning: 'the folder of everything the service keeps',
    default: './data',
  }),
  DATABASE_URL: {
    schema: values.databaseUrl,
    secret: true,
    shown: ({ database }) => (database.kind === 'sqlite' ? `sqlite:${database.path}` : '(set)'),
    meaning: 'sqlite:PATH, or postgres://… when scaled out',
    default: 'sqlite:DATA_DIR/service.db',
  },
  REDIS_URL: setting('redisUrl', values.redisUrl, {
    secret: true,
    meaning: 'redis://… shares the rate limits between instances',
    default: 'limits in this process',
  }),
  RECEIPT_RETENTION_DAYS: setting('receiptRetentionDays', values.whole(1, 36_500), {
    otherwise: 400,
    meaning: 'for how many days receipts and the consent in them are kept (1 to 36500)',
  }),
  SUBMISSION_RETENTION_DAYS: setting('submissionRetentionDays', values.whole(0, 36_500), {
    otherwise: 30,
    meaning: 'for how many days what was forwarded or dismissed keeps its content (0 to 36500)',
  }),
  UPSTREAM_URL: {
    schema: values.upstreamUrl,
    secret: true,
    shown: ({ upstream }) => ({ none: undefined, inbox: 'inbox:', http: '(set)' })[upstream.kind],
    meaning: 'where accepted submissions go: inbox:, or an https:// address',
    default: 'inbox: (in production: none, and submissions answer 503)',
  },
  UPSTREAM_SECRET: {
    schema: values.upstreamSecret,
    secret: true,
    shown: () => undefined,
    meaning: 'whsec_<base64>: signs every forward (Standard Webhooks)',
    default: 'unsigned',
  },
  UPSTREAM_TIMEOUT_MS: setting('upstreamTimeoutMs', values.whole(100, 60_000), {
    otherwise: 10_000,
    meaning: 'how long one forward may take, in milliseconds (100 to 60000)',
  }),
  REDELIVERY: setting('redelivery', values.onOrOff, {
    otherwise: 'on',
    meaning:
      'on or off: whether a person’s submission that was not confirmed is sent again by itself',
  }),
  PREVIEW_SIGNING_KEYS: setting('previewSigningKeys', values.signingKeys, {
    otherwise: () => [],
    secret: true,
    shown: ({ mode }) => (mode === 'local' ? '(generated once in DATA_DIR)' : undefined),
    meaning: `base64 keys of at least ${SIGNING_KEY_BYTES} bytes, comma-separated; the first signs, all verify`,
    default: 'generated in DATA_DIR (in production: none, and preview and execute answer 503)',
  }),
  /** None: generated once in local mode; in production receipts are not signed. */
  RECEIPT_SIGNING_KEYS: setting('receiptKeys', values.receiptKeys, {
    otherwise: NO_RECEIPT_KEYS,
    secret: true,
    shown: ({ mode }) => (mode === 'local' ? '(generated once in DATA_DIR)' : undefined),
    meaning:
      'PEM keys of P-256; the first PRIVATE KEY signs receipts, and all are published with the PUBLIC KEY blocks',
    default: 'generated in DATA_DIR (in production: none, and receipts are not signed)',
  }),
  AGENT_CREDENTIALS_FILE: setting('credentialsFile', values.line, {
    otherwise: ({ mode, dataDir }) => (mode === 'local' ? join(dataDir, 'agents.json') : undefined),
    meaning: 'the JSON file of agent credentials',
    default: 'DATA_DIR/agents.json (in production: none is valid)',
  }),
  SMTP_URL: {
    schema: values.smtpUrl,
    secret: true,
    shown: ({ mail }) => (mail.kind === 'files' ? `(none: files in ${mail.folder})` : undefined),
    meaning: 'smtp://user:password@host:port of the mail server',
    default: `files in DATA_DIR/mail (in production: none, and ${routes.subscribeNewsletter.path} answers 503)`,
  },
  MAIL_FROM: {
    schema: values.sender,
    shown: ({ mail }) => (mail.kind === 'none' ? undefined : mail.from),
    meaning: 'the sender of all messages',
    default: 'required with SMTP_URL',
  },
  MAIL_PER_MINUTE: setting('mailPerMinute', values.whole(1, 1_000_000), {
    otherwise: 60,
    meaning: 'all messages together; the rest waits in the outbox',
  }),
  NOTIFY_EMAIL: setting('notifyEmail', values.mailbox, {
    meaning: 'who is told of each lead by mail: one address, without a name',
    default: 'nobody',
  }),
  ALERT_EMAIL: setting('alertEmail', values.mailbox, {
    meaning: 'who is told of faults by mail: one address, without a name',
    default: 'nobody',
  }),
  OPERATOR_NAME: {
    schema: values.name,
    shown: ({ operator }) => operator.name,
    meaning: 'who runs the site',
    default: 'Service',
  },
  OPERATOR_CONTACT: {
    schema: values.contact,
    shown: ({ operator }) => operator.contact,
    meaning: 'an e-mail address or telephone number shown to people',
    default: 'none',
  },
  CONTENT_DIR: setting('contentDir', values.path, {
    meaning: 'a folder of your own pages, words, colours and logo, laid over ours',
    default: 'ours alone',
  }),
  CONTRACTOR_ID: {
    schema: values.name,
    shown: ({ contractor }) => contractor?.id,
    meaning: 'the contractor on the platform, as the upstream knows them',
    default: 'sample-contractor (required in production with UPSTREAM_URL)',
  },
  CONTRACTOR_NAME: {
    schema: values.name,
    shown: ({ contractor }) => contractor?.name,
    meaning: 'the name people are shown for them',
    default: 'Sample Painting Company (required in production with UPSTREAM_URL)',
  },
  TRUST_PROXY: setting('trustProxy', values.proxies, {
    otherwise: () => [],
    meaning: 'proxies whose X-Forwarded-For is believed: addresses and CIDR ranges',
    default: 'none: the client address is the socket’s',
  }),
  ALLOWED_ORIGINS: setting('allowedOrigins', values.origins, {
    otherwise: () => [],
    meaning: 'origins whose pages may call the form routes with fetch',
    default: 'none',
  }),
  CONFIRMATION_MINIMUM: setting('confirmationMinimum', values.confirmationMinimum, {
    otherwise: () => NO_MINIMUM,
    shown: ({ confirmationMinimum }) => writeConfirmationMinimum(confirmationMinimum),
    meaning:
      'how a person confirms at least: agent, page or page_email, or pairs as homeowner_quote=page_email,newsletter=page',
    default: 'agent',
  }),
  MCP: setting('mcp', values.onOrOff, {
    otherwise: 'on',
    meaning: `on or off: the tools for agents at ${routes.mcp.path} (Model Context Protocol)`,
  }),
  OPERATOR_CONSOLE: setting('operatorConsole', values.onOrOff, {
    otherwise: ({ mode }) => (mode === 'local' ? 'on' : 'off'),
    meaning: `on or off: the operator’s pages at ${routes.operatorPage.path}; in production they need an https BASE_URL`,
    default: 'on (in production: off)',
  }),
  OPERATOR_TIME_ZONE: setting('operatorTimeZone', values.timeZone, {
    meaning: 'the time zone of the operator’s pages, by its IANA name, as Europe/Berlin',
    default: 'the process’s',
  }),
  LOG_LEVEL: setting('logLevel', values.logLevel, {
    otherwise: 'info',
    meaning: 'how much is logged',
  }),
  METRICS_PORT: setting('metricsPort', values.port, {
    meaning: `serves ${routes.metrics.path} for Prometheus on a port of its own`,
    default: 'off',
  }),
} as const satisfies Record<string, Variable>;

export type VariableName = keyof typeof variables;

/** The name under which a secret variable is given as a file. */
export function fileVariable(name: VariableName): string | undefined {
  return 'secret' in variables[name] ? `${name}_FILE` : undefined;
}
