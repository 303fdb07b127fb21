/** `npm run settings`: every setting in force, where it came from, secrets hidden (contract §1). */
import { fileVariable, type LoadedEnvironment, type Settings } from '../settings/settings.ts';
import { type VariableName, variables } from '../settings/variables.ts';
import type { Call, Command } from './command.ts';
import { runCommand } from './command-line.ts';
import { loadSettings } from './configuration.ts';
import { tableOf } from './terminal.ts';

const command: Command = {
  invocation: 'npm run settings --',
  meaning: 'Every setting in force, and where it came from; secrets are hidden.',
  examples: ['npm run settings', 'npm run --silent settings -- --json'],
  actions: { '': { meaning: 'all settings', operands: [], options: {}, run: show } },
};

/** Takes the arguments after the command's name. */
export function run(argv: readonly string[]): Promise<number> {
  return runCommand(command, argv);
}

type Row = {
  name: VariableName;
  /** Null where nothing is set and there is no default. */
  value: string | null;
  source: 'environment' | '.env' | 'file' | 'default';
};

async function show({ terminal }: Call): Promise<void> {
  const { settings, loaded } = loadSettings();
  const names = Object.keys(variables) as VariableName[];
  const rows = names.map((name) => rowOf(name, settings, loaded));
  if (terminal.json) return terminal.print(JSON.stringify(rows));
  const cells = rows.map(({ name, value, source }) => [name, value ?? '-', source]);
  const [head = '', ...lines] = tableOf([['VARIABLE', 'IN FORCE', 'FROM'], ...cells]);
  terminal.print(terminal.emphasize('bold', head));
  for (const line of lines) terminal.print(line);
}

function rowOf(name: VariableName, settings: Settings, loaded: LoadedEnvironment): Row {
  const file = fileVariable(name);
  // An empty variable counts as one that is not set.
  const given = Boolean(loaded.environment[name]);
  const givenAsFile = file !== undefined && Boolean(loaded.environment[file]);
  const isSecret = file !== undefined && (given || givenAsFile);
  const value = isSecret ? '(set)' : (inForce[name](settings) ?? null);
  const source = givenAsFile ? 'file' : given ? loaded.origins(name) : undefined;
  return { name, value, source: source ?? 'default' };
}

const inForce: Readonly<Record<VariableName, (settings: Settings) => string | undefined>> = {
  NODE_ENV: ({ mode }) => (mode === 'production' ? mode : 'local mode'),
  HOST: ({ host }) => host,
  PORT: ({ port }) => String(port),
  BASE_URL: ({ baseUrl }) => baseUrl,
  DATA_DIR: ({ dataDir }) => dataDir,
  DATABASE_URL: ({ database }) =>
    database.kind === 'sqlite' ? `sqlite:${database.path}` : '(set)',
  REDIS_URL: ({ redisUrl }) => redisUrl && '(set)',
  RECEIPT_RETENTION_DAYS: ({ receiptRetentionDays }) => String(receiptRetentionDays),
  UPSTREAM_URL: ({ upstream }) =>
    ({ none: undefined, inbox: 'inbox:', http: '(set)' })[upstream.kind],
  UPSTREAM_SECRET: () => undefined,
  UPSTREAM_TIMEOUT_MS: ({ upstreamTimeoutMs }) => String(upstreamTimeoutMs),
  PREVIEW_SIGNING_KEYS: ({ mode }) =>
    mode === 'local' ? '(generated once in DATA_DIR)' : undefined,
  AGENT_CREDENTIALS_FILE: ({ credentialsFile }) => credentialsFile,
  SMTP_URL: ({ mail }) => (mail.kind === 'files' ? `(none: files in ${mail.folder})` : undefined),
  MAIL_FROM: ({ mail }) => (mail.kind === 'none' ? undefined : mail.from),
  MAIL_PER_MINUTE: ({ mailPerMinute }) => String(mailPerMinute),
  OPERATOR_NAME: ({ operator }) => operator.name,
  OPERATOR_CONTACT: ({ operator }) => operator.contact,
  CONTENT_DIR: ({ contentDir }) => contentDir,
  CONTRACTOR_ID: ({ contractor }) => contractor?.id,
  CONTRACTOR_NAME: ({ contractor }) => contractor?.name,
  TRUST_PROXY: ({ trustProxy }) => trustProxy.join(',') || undefined,
  ALLOWED_ORIGINS: ({ allowedOrigins }) => allowedOrigins.join(',') || undefined,
  LOG_LEVEL: ({ logLevel }) => logLevel,
  METRICS_PORT: ({ metricsPort }) => metricsPort?.toString(),
};
