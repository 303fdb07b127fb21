/** First output of a start: text on a terminal, or one JSON line of the log. */
import { forms, leastFields } from '../forms/catalog.ts';
import type { Clock } from '../platform/clock.ts';
import { pages, pathTo, routes } from '../routes.ts';
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
  const { settings, envFile, prepared, version } = started;
  const { baseUrl, dataDir, upstream, mail } = settings;
  const token = prepared.tokenFile;
  const isNew = prepared.firstRun ? ' (new)' : '';
  return [
    `Lead intake ${version}, local mode. ${settingsFrom(envFile)} Data folder: ${dataDir}${isNew}.`,
    // The text has at most 14 lines.
    ...(started.operatorLink === undefined ? [''] : []),
    `  Site       ${baseUrl}`,
    `  Agents     ${baseUrl}${pages.agents.path}`,
    `  Reference  ${baseUrl}${pages.reference.path}`,
    `  Leads      ${upstream.kind === 'http' ? 'forwarded to UPSTREAM_URL' : 'npm run inbox -- list'}`,
    `  E-mail     ${mail.kind === 'files' ? `${mail.folder} (files, not sent)` : 'sent through SMTP_URL'}`,
    ...(started.operatorLink === undefined
      ? []
      : [`  Operator   ${started.operatorLink} (one-time link, valid 15 minutes)`]),
    `  Token      ${token ?? 'none, issue one with: npm run credentials -- issue my-agent'}`,
    '',
    ...(token === undefined ? [] : ['Try:', tryCommand(baseUrl, token), '']),
    'To go live, set NODE_ENV=production, BASE_URL, UPSTREAM_URL, CONTRACTOR_ID, CONTRACTOR_NAME,',
    '  PREVIEW_SIGNING_KEYS, AGENT_CREDENTIALS_FILE, SMTP_URL, MAIL_FROM (see .env.example).',
  ];
}

function productionLines({ settings, envFile, parts, version }: Started): string[] {
  const { baseUrl, host, port } = settings;
  const features = featuresOf(settings).map(({ feature, on, missing }) => {
    const state = on ? 'on' : `off: ${missing.join(', ')} ${missing.length > 1 ? 'are' : 'is'} not set`;
    return `  ${feature.padEnd(18)}${state}`;
  });
  return [
    `Lead intake ${version}, production, on ${host}:${port}. ${settingsFrom(envFile)}`,
    '',
    `  Site              ${baseUrl}`,
    `  Agents            ${baseUrl}${pages.agents.path}`,
    `  Reference         ${baseUrl}${pages.reference.path}`,
    `  Clients           ${parts.credentials.state().clients}`,
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
    try: prepared.tokenFile === undefined ? null : tryCommand(baseUrl, prepared.tokenFile).trim(),
  };
}

function settingsFrom({ path, found }: LoadedEnvironment['file']): string {
  return found ? `Settings file: ${path}.` : `No settings file ${path}.`;
}

/** Returns a shell command that requests a preview of the first form. */
function tryCommand(baseUrl: string, tokenFile: string): string {
  const form = forms.homeowner_quote;
  const body = JSON.stringify(leastFields(form));
  const url = quoteForShell(baseUrl + pathTo(routes.previewAction, { action: form.name }));
  const authorization = `"Authorization: Bearer $(cat ${quoteForShell(tokenFile)})"`;
  const type = "'Content-Type: application/json'";
  return `  curl -sS ${url} -H ${authorization} -H ${type} -d ${quoteForShell(body)}`;
}

function quoteForShell(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
