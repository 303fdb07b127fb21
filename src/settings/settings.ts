/**
 * Every environment variable, validated together (contract §2). A bad value stops the process
 * before it listens: one line per fault, which names the variable and never prints a secret.
 */
import { readFileSync } from 'node:fs';
import type { Infer } from '@badrap/valita';
import type { Environment } from './environment.ts';
import { contractorOf, databaseOf, type Groups, type Known, mailOf, upstreamOf } from './groups.ts';
import { checkShape } from './shape.ts';
import { fileVariable, type VariableName, variables } from './variables.ts';

type Entry<Name extends VariableName> = (typeof variables)[Name];

/** What single variables become, by the entries of the table. */
type Single = {
  [Name in VariableName as Entry<Name> extends { setting: infer Setting extends string }
    ? Setting
    : never]: Entry<Name> extends { otherwise: (known: Known) => infer Value } ? Value : never;
};

export type Settings = Single & Groups;

export type SettingsResult =
  | { kind: 'valid'; settings: Settings }
  | { kind: 'invalid'; faults: string[] };

/**
 * Takes the whole environment, and the faults that were found before (of `.env`, and at a start of the
 * credentials file). Returns the settings, or those faults and one sentence for each of its own.
 */
export function readSettings(
  environment: Environment,
  before: readonly string[] = [],
): SettingsResult {
  const faults = [...before];
  const given = new Map<VariableName, unknown>();
  for (const name of Object.keys(variables) as VariableName[]) {
    const text = textOf(environment, name, faults);
    if (text === undefined) continue;
    const checked = checkShape(variables[name].schema, text);
    if (checked.kind === 'valid') given.set(name, checked.value);
    else faults.push(`${name} ${checked.why}.`);
  }
  const settings = assemble(given);
  checkTogether(settings, given, faults);
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
    faults.push(`${fileName} names a file that can’t be read.`);
    return undefined;
  }
}

/** Makes the settings in the order of the table: a default is made from those before it. */
function assemble(given: ReadonlyMap<VariableName, unknown>): Settings {
  const get = <Name extends VariableName>(name: Name) =>
    given.get(name) as Infer<Entry<Name>['schema']> | undefined;
  const single: Record<string, unknown> = {};
  for (const [name, variable] of Object.entries(variables)) {
    if (!('setting' in variable)) continue;
    const { setting, otherwise } = variable;
    single[setting] = given.get(name as VariableName) ?? otherwise(single as Known);
  }
  const settings = single as Single;
  return {
    ...settings,
    database: databaseOf(get('DATABASE_URL'), settings),
    upstream: upstreamOf(get('UPSTREAM_URL'), get('UPSTREAM_SECRET'), settings),
    mail: mailOf(get('SMTP_URL'), get('MAIL_FROM'), settings),
    operator: { name: get('OPERATOR_NAME') ?? 'Service', contact: get('OPERATOR_CONTACT') },
    contractor: contractorOf(get('CONTRACTOR_ID'), get('CONTRACTOR_NAME'), settings),
  };
}

/** The rules that tie variables together. */
function checkTogether(
  { mode, port, metricsPort, mail, confirmationMinimum, operatorConsole, baseUrl }: Settings,
  given: ReadonlyMap<VariableName, unknown>,
  faults: string[],
): void {
  const required = (name: VariableName, when: string) => {
    if (!given.has(name) && !faults.some((fault) => fault.startsWith(`${name} `)))
      faults.push(`${name} is required ${when}.`);
  };
  if (mode === 'production') required('BASE_URL', 'in production');
  if (given.has('SMTP_URL')) required('MAIL_FROM', 'with SMTP_URL');
  for (const name of ['NOTIFY_EMAIL', 'ALERT_EMAIL'] as const) {
    if (given.has(name) && mail.kind === 'none') {
      faults.push(`${name} needs a mail server; set SMTP_URL and MAIL_FROM.`);
    }
  }
  if (mail.kind === 'none' && Object.values(confirmationMinimum).includes('page_email')) {
    faults.push(
      'CONFIRMATION_MINIMUM needs a mail server for page_email; set SMTP_URL and MAIL_FROM.',
    );
  }
  // Its cookie would go over the wire as anybody reads it (beyond §7).
  if (mode === 'production' && operatorConsole === 'on' && !/^https:/i.test(baseUrl)) {
    faults.push('OPERATOR_CONSOLE needs a BASE_URL with https:// in production.');
  }
  if (metricsPort === port) faults.push('METRICS_PORT must be another than PORT.');
  if (mode === 'production' && given.has('UPSTREAM_URL')) {
    required('CONTRACTOR_ID', 'with UPSTREAM_URL');
    required('CONTRACTOR_NAME', 'with UPSTREAM_URL');
  }
}
