/** First output of a start: at most 12 lines of text on a terminal, or one JSON line of the log. */
import { relative } from 'node:path';
import type { Clock } from '../platform/clock.ts';
import { pages, routes } from '../routes.ts';
import type { LoadedEnvironment } from '../settings/environment.ts';
import type { Settings } from '../settings/settings.ts';
import type { Prepared } from './first-run.ts';

export type Started = {
  settings: Settings;
  /** The `.env` of the current folder. The output shows the path, because a person may have meant another `.env`. */
  envFile: LoadedEnvironment['file'];
  prepared: Prepared;
  parts: { clock: Pick<Clock, 'now'>; credentials: { state(): { clients: number } } };
  version: string;
  onTerminal: boolean | undefined;
  /** Sign-in link for the console, in local mode on a terminal only (reference §12.2). */
  operatorLink?: string | undefined;
};

/** Returns the text, with a line break at the end. */
export function greeting(started: Started): string {
  if (!started.onTerminal) return `${JSON.stringify(asLogLine(started))}\n`;
  const lines = started.settings.mode === 'local' ? localLines(started) : productionLines(started);
  return `${lines.join('\n')}\n`;
}

/** Returns each feature, and the missing settings because of which it is off (reference §20.1). */
function featuresOf(settings: Settings) {
  const { upstream, mode, previewSigningKeys, credentialsFile, mail, metricsPort } = settings;
  const isMissing = {
    UPSTREAM_URL: upstream.kind === 'none',
    PREVIEW_SIGNING_KEYS: mode === 'production' && previewSigningKeys.length === 0,
    AGENT_CREDENTIALS_FILE: credentialsFile === undefined,
    SMTP_URL: mail.kind === 'none',
    METRICS_PORT: metricsPort === undefined,
    OPERATOR_CONSOLE: settings.operatorConsole === 'off',
  };
  const needs = (feature: string, names: (keyof typeof isMissing)[]) => {
    const missing = names.filter((name) => isMissing[name]);
    return { feature, on: missing.length === 0, missing };
  };
  return [
    needs('form submissions', ['UPSTREAM_URL']),
    needs('agent actions', ['UPSTREAM_URL', 'PREVIEW_SIGNING_KEYS', 'AGENT_CREDENTIALS_FILE']),
    needs('subscriptions', ['UPSTREAM_URL', 'SMTP_URL']),
    needs('metrics', ['METRICS_PORT']),
    needs('operator console', ['OPERATOR_CONSOLE']),
  ];
}

function localLines(started: Started): string[] {
  const { settings, envFile, prepared, version, operatorLink } = started;
  const { baseUrl, dataDir, mail } = settings;
  const isNew = prepared.firstRun ? ' (new)' : '';
  return [
    `Lead intake ${version}, local mode. ${settingsFrom(envFile)}`,
    '',
    `  Site     ${baseUrl}`,
    ...(operatorLink === undefined
      ? []
      : [`  Console  ${operatorLink}`, '           This link works once, within 15 minutes.']),
    `  Agents   ${baseUrl}${pages.agents.path}`,
    `  Token    ${shortPath(prepared.tokenFile) ?? 'none, issue one with: npm run credentials -- issue my-agent'}`,
    `  Mails    ${mail.kind === 'files' ? `${shortPath(mail.folder)} (files, nothing is sent)` : 'sent through SMTP_URL'}`,
    `  Data     ${shortPath(dataDir)}${isNew}`,
    '',
    'Try it with npm run demo. README.md says how to go live.',
  ];
}

function productionLines({ settings, envFile, parts, version }: Started): string[] {
  const { baseUrl, host, port, operatorConsole } = settings;
  const features = featuresOf(settings).map(({ feature, on, missing }) => {
    const [first, second, ...more] = missing;
    const names = more.length > 0 ? `${first}, ${second} and ${more.length} more` : missing.join(', ');
    return `  ${feature.padEnd(18)}${on ? 'on' : `off, not set: ${names}`}`;
  });
  return [
    `Lead intake ${version}, production, on ${host}:${port}. ${settingsFrom(envFile)}`,
    `  Site     ${baseUrl}`,
    ...(operatorConsole === 'on' ? [`  Console  ${baseUrl}${routes.signInForm.path}`] : []),
    `  Agents   ${baseUrl}${pages.agents.path}`,
    `  Clients  ${parts.credentials.state().clients}`,
    '',
    ...features,
  ];
}

/** Returns the log line. The line names files and settings, and contains no secret. */
function asLogLine({ settings, envFile, prepared, parts, version }: Started) {
  const { mode, baseUrl, host, port, dataDir } = settings;
  return {
    level: 'info',
    time: parts.clock.now().toISOString(),
    msg: 'service started',
    version,
    mode,
    host,
    port,
    site: baseUrl,
    agents: baseUrl + pages.agents.path,
    reference: baseUrl + pages.reference.path,
    dataDir,
    envFile: envFile.found ? envFile.path : null,
    leads: settings.upstream.kind,
    mail: settings.mail.kind,
    tokenFile: prepared.tokenFile ?? null,
    firstRun: prepared.firstRun,
    clients: parts.credentials.state().clients,
    features: featuresOf(settings),
  };
}

function settingsFrom({ path, found }: LoadedEnvironment['file']): string {
  return found ? `Settings file: ${shortPath(path)}.` : `No settings file ${shortPath(path)}.`;
}

/** Returns the path as a person types it: relative if it is below the current folder. */
function shortPath<P extends string | undefined>(path: P): P | string {
  const below = path === undefined ? '..' : relative(process.cwd(), path);
  return below.startsWith('..') ? path : `./${below}`;
}
