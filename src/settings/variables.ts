/**
 * Every environment variable. A new setting is one entry here, its description in `.env.example` and its row in
 * reference §20.3. `npm run settings`, the type `Settings` and the reading derive from the entry.
 */
import { join, resolve } from 'node:path';
import type * as v from '@badrap/valita';
import { type MinimumByAction, NO_MINIMUM, writeConfirmationMinimum } from './confirmation-minimum.ts';
import * as facts from './contractor-facts.ts';
import type { BasicSettings, Groups } from './groups.ts';
import { NO_RECEIPT_KEYS } from './receipt-keys.ts';
import { upstreamHeaders } from './upstream-headers.ts';
import * as values from './values.ts';

/** Settings that the functions `shown` read. */
type Shown = BasicSettings &
  Groups & { confirmationMinimum: MinimumByAction; upstreamHeaders: v.Infer<typeof upstreamHeaders> };

type Variable = {
  /** Name of the setting. Undefined for the variables of `groups.ts`. */
  setting?: string;
  /** Parses and validates the text. */
  schema: v.Type;
  /** Value if the variable is not set, or a function of the earlier settings (default: undefined). */
  otherwise?: unknown;
  /** True if the value is never shown and can be given as a file, `NAME_FILE`. */
  secret?: true;
  /** Returns the text that `npm run settings` shows instead of the value. */
  shown?: (settings: Shown) => string | undefined;
  /** True if that text also replaces `(set)`, because it has no secret part of the value. */
  shownIfSet?: true;
};

const generated = ({ mode }: BasicSettings) => (mode === 'local' ? '(generated once in DATA_DIR)' : undefined);

export const variables = {
  NODE_ENV: {
    setting: 'mode',
    schema: values.mode,
    otherwise: 'local',
    shown: ({ mode }) => (mode === 'production' ? mode : 'local mode'),
  },
  HOST: { setting: 'host', schema: values.host, otherwise: '127.0.0.1' },
  PORT: { setting: 'port', schema: values.port, otherwise: 3000 },
  /** Without a trailing slash. */
  BASE_URL: { setting: 'baseUrl', schema: values.baseUrl, otherwise: values.ownBaseUrl },
  DATA_DIR: { setting: 'dataDir', schema: values.path, otherwise: () => resolve('./data') },
  DATABASE_URL: {
    schema: values.databaseUrl,
    secret: true,
    shown: ({ database }) => (database.kind === 'sqlite' ? `sqlite:${database.path}` : '(set)'),
  },
  REDIS_URL: { setting: 'redisUrl', schema: values.redisUrl, secret: true },
  RECEIPT_RETENTION_DAYS: { setting: 'receiptRetentionDays', schema: values.whole(1, 36_500), otherwise: 400 },
  SUBMISSION_RETENTION_DAYS: { setting: 'submissionRetentionDays', schema: values.whole(0, 36_500), otherwise: 30 },
  UPSTREAM_URL: {
    schema: values.upstreamUrl,
    secret: true,
    shown: ({ upstream }) => ({ none: undefined, inbox: 'inbox:', http: '(set)' })[upstream.kind],
  },
  UPSTREAM_SECRET: { schema: values.upstreamSecrets, secret: true, shown: () => undefined },
  UPSTREAM_HEADERS: {
    setting: 'upstreamHeaders',
    schema: upstreamHeaders,
    otherwise: () => [],
    secret: true,
    shown: ({ upstreamHeaders }) => upstreamHeaders.map(([name]) => name).join(', ') || undefined,
    shownIfSet: true,
  },
  UPSTREAM_TIMEOUT_MS: { setting: 'upstreamTimeoutMs', schema: values.whole(100, 60_000), otherwise: 10_000 },
  UPSTREAM_REDIRECT: { setting: 'upstreamRedirect', schema: values.redirectMeaning, otherwise: 'unconfirmed' },
  REDELIVERY: { setting: 'redelivery', schema: values.onOrOff, otherwise: 'on' },
  PREVIEW_SIGNING_KEYS: {
    setting: 'previewSigningKeys',
    schema: values.signingKeys,
    otherwise: () => [],
    secret: true,
    shown: generated,
  },
  /** If this variable is not set, local mode generates a key, and production does not sign receipts. */
  RECEIPT_SIGNING_KEYS: {
    setting: 'receiptKeys',
    schema: values.receiptKeys,
    otherwise: () => NO_RECEIPT_KEYS,
    secret: true,
    shown: generated,
  },
  AGENT_CREDENTIALS_FILE: {
    setting: 'credentialsFile',
    schema: values.line,
    otherwise: ({ mode, dataDir }: BasicSettings) => (mode === 'local' ? join(dataDir, 'agents.json') : undefined),
  },
  SMTP_URL: {
    schema: values.smtpUrl,
    secret: true,
    shown: ({ mail }) => (mail.kind === 'files' ? `(none: files in ${mail.folder})` : undefined),
  },
  MAIL_FROM: { schema: values.sender, shown: ({ mail }) => (mail.kind === 'none' ? undefined : mail.from) },
  MAIL_PER_MINUTE: { setting: 'mailPerMinute', schema: values.whole(1, 1_000_000), otherwise: 60 },
  NOTIFY_EMAIL: { setting: 'notifyEmail', schema: values.mailbox },
  ALERT_EMAIL: { setting: 'alertEmail', schema: values.mailbox },
  CONTRACTOR_EMAIL: { setting: 'contractorEmail', schema: values.mailbox },
  ACKNOWLEDGE: { setting: 'acknowledge', schema: values.onOrOff, otherwise: 'off' },
  OPERATOR_NAME: { schema: values.name, shown: ({ operator }) => operator.name },
  OPERATOR_CONTACT: { schema: values.contact, shown: ({ operator }) => operator.contact },
  CONTENT_DIR: { setting: 'contentDir', schema: values.path },
  CONTRACTOR_ID: { schema: values.name, shown: ({ contractor }) => contractor?.id },
  CONTRACTOR_NAME: { schema: values.name, shown: ({ contractor }) => contractor?.name },
  CONTRACTOR_PLACE: { setting: 'contractorPlace', schema: facts.fact },
  CONTRACTOR_SINCE: { setting: 'contractorSince', schema: facts.year },
  CONTRACTOR_LICENSE: { setting: 'contractorLicense', schema: facts.fact },
  CONTRACTOR_INSURED: { setting: 'contractorInsured', schema: facts.fact },
  CONTRACTOR_CHECKED: { setting: 'contractorChecked', schema: facts.fact },
  CONTRACTOR_TELEPHONE: { setting: 'contractorTelephone', schema: facts.telephone },
  CONTRACTOR_LINK: { setting: 'contractorLink', schema: facts.secureAddress },
  TRUST_PROXY: { setting: 'trustProxy', schema: values.proxies, otherwise: () => [] },
  ALLOWED_ORIGINS: { setting: 'allowedOrigins', schema: values.origins, otherwise: () => [] },
  CONFIRMATION_MINIMUM: {
    setting: 'confirmationMinimum',
    schema: values.confirmationMinimum,
    otherwise: () => NO_MINIMUM,
    shown: ({ confirmationMinimum }) => writeConfirmationMinimum(confirmationMinimum),
  },
  MCP: { setting: 'mcp', schema: values.onOrOff, otherwise: 'on' },
  MCP_ALLOWED_ORIGINS: { setting: 'mcpAllowedOrigins', schema: values.toolOrigins, otherwise: () => [] },
  OAUTH: { schema: values.onOrOff, shown: ({ oauth }) => (oauth === 'on' ? 'on' : 'off') },
  /** Names of the hosts that may connect, also by their metadata document. */
  OAUTH_HOSTS: {
    setting: 'oauthHosts',
    schema: values.hostNames,
    otherwise: (): readonly string[] => ['claude.ai', 'claude.com', 'chatgpt.com'],
  },
  /** Addresses of the operators who sign in by mail. */
  OPERATORS: { setting: 'operators', schema: values.operators, otherwise: (): readonly string[] => [] },
  OPERATOR_CONSOLE: {
    setting: 'operatorConsole',
    schema: values.onOrOff,
    otherwise: ({ mode, operators }: BasicSettings) => (mode === 'local' || operators.length > 0 ? 'on' : 'off'),
  },
  OPERATOR_TIME_ZONE: { setting: 'operatorTimeZone', schema: values.timeZone },
  LOG_LEVEL: { setting: 'logLevel', schema: values.logLevel, otherwise: 'info' },
  METRICS_PORT: { setting: 'metricsPort', schema: values.port },
} as const satisfies Record<string, Variable>;

export type VariableName = keyof typeof variables;

/** Returns the name under which a secret variable is given as a file. */
export function fileVariable(name: VariableName): string | undefined {
  return 'secret' in variables[name] ? `${name}_FILE` : undefined;
}
