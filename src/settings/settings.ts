/**
 * Validates all environment variables together (reference §20.2). A bad value stops the process before it listens, with
 * one line per fault. The line names the variable and never prints a secret.
 */
import type { Infer } from '@badrap/valita';
import { EncodingFault, type Environment, isQuoted, readText } from './environment.ts';
import { type BasicSettings, contractorOf, databaseOf, type Groups, mailOf, oauthOf, upstreamOf } from './groups.ts';
import { checkShape } from './shape.ts';
import { fileVariable, type VariableName, variables } from './variables.ts';

type Entry<Name extends VariableName> = (typeof variables)[Name];

/** Type of a variable's value if the variable is not set. */
type Otherwise<E> = E extends { otherwise: infer Value }
  ? Value extends (basic: BasicSettings) => infer Made
    ? Made
    : Value
  : undefined;

/** The settings of single variables, by the entries of the table. */
type Single = {
  [Name in VariableName as Entry<Name> extends { setting: infer Setting extends string } ? Setting : never]:
    | Infer<Entry<Name>['schema']>
    | Otherwise<Entry<Name>>;
};

export type Settings = Single & Groups;

export type SettingsResult = { kind: 'valid'; settings: Settings } | { kind: 'invalid'; faults: string[] };

/**
 * Returns the settings, or all faults, one sentence each. `before` has the faults of `.env`, and at a start also the
 * faults of the credentials file.
 */
export function readSettings(environment: Environment, before: readonly string[] = []): SettingsResult {
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
  faults.push(...combinationFaults(settings, given, faults));
  return faults.length === 0 ? { kind: 'valid', settings } : { kind: 'invalid', faults };
}

/** Returns the value of a variable. Returns undefined if the value is empty or still in quotation marks. */
function ownValue(environment: Environment, name: string | undefined, faults: string[]): string | undefined {
  const value = (name && environment[name]) || undefined;
  if (value === undefined || !isQuoted(value)) return value;
  faults.push(`${name} is in quotation marks, which would become part of the value. Remove them.`);
  return undefined;
}

/** Returns the text of a variable, or of its file without the trailing line break. An empty text counts as unset. */
function textOf(environment: Environment, name: VariableName, faults: string[]): string | undefined {
  const own = ownValue(environment, name, faults);
  const fileName = fileVariable(name);
  const file = ownValue(environment, fileName, faults);
  if (file === undefined) return own;
  if (own !== undefined) {
    faults.push(`${name} and ${fileName} are both set. Remove one of them.`);
    return undefined;
  }
  try {
    return readText(file).replace(/\r?\n$/, '');
  } catch (error) {
    const why = error instanceof EncodingFault ? error.message : 'can’t be read';
    faults.push(`${fileName} names a file that ${why}.`);
    return undefined;
  }
}

/** Makes the settings in the order of the table, because a default may depend on earlier settings. */
function assemble(given: ReadonlyMap<VariableName, unknown>): Settings {
  const get = <Name extends VariableName>(name: Name) => given.get(name) as Infer<Entry<Name>['schema']> | undefined;
  const single: Record<string, unknown> = {};
  for (const [name, variable] of Object.entries(variables)) {
    if (!('setting' in variable)) continue;
    const otherwise = 'otherwise' in variable ? variable.otherwise : undefined;
    const made = typeof otherwise === 'function' ? otherwise(single as BasicSettings) : otherwise;
    single[variable.setting] = given.get(name as VariableName) ?? made;
  }
  const settings = single as Single;
  return {
    ...settings,
    database: databaseOf(get('DATABASE_URL'), settings),
    upstream: upstreamOf(get('UPSTREAM_URL'), get('UPSTREAM_SECRET'), settings),
    mail: mailOf(get('SMTP_URL'), get('MAIL_FROM'), settings),
    operator: { name: get('OPERATOR_NAME') ?? 'Service', contact: get('OPERATOR_CONTACT') },
    contractor: contractorOf(get('CONTRACTOR_ID'), get('CONTRACTOR_NAME'), settings),
    oauth: oauthOf(get('OAUTH'), settings),
  };
}

/** Checks the rules that involve several variables. */
function combinationFaults(
  { mode, port, metricsPort, mail, acknowledge, confirmationMinimum, baseUrl }: Settings,
  given: ReadonlyMap<VariableName, unknown>,
  faults: readonly string[],
): string[] {
  const isProduction = mode === 'production';
  const isForwarded = isProduction && given.has('UPSTREAM_URL');
  const hasNoMail = mail.kind === 'none';
  const needsMail = Object.values(confirmationMinimum).includes('page_email');
  // Without TLS, anybody on the way can read the session cookie (reference §12.1).
  const isOpen = isProduction && !/^https:/i.test(baseUrl);
  const isConsoleOn = given.get('OPERATOR_CONSOLE') === 'on';
  const isMissing = (name: VariableName) => !given.has(name) && !faults.some((fault) => fault.startsWith(`${name} `));
  const rules: readonly [isBroken: boolean, fault: string][] = [
    [isProduction && isMissing('BASE_URL'), 'BASE_URL is required in production.'],
    [given.has('SMTP_URL') && isMissing('MAIL_FROM'), 'MAIL_FROM is required with SMTP_URL.'],
    [given.has('NOTIFY_EMAIL') && hasNoMail, 'NOTIFY_EMAIL needs a mail server. Set SMTP_URL and MAIL_FROM.'],
    [given.has('ALERT_EMAIL') && hasNoMail, 'ALERT_EMAIL needs a mail server. Set SMTP_URL and MAIL_FROM.'],
    [given.has('CONTRACTOR_EMAIL') && hasNoMail, 'CONTRACTOR_EMAIL needs a mail server. Set SMTP_URL and MAIL_FROM.'],
    [acknowledge === 'on' && hasNoMail, 'ACKNOWLEDGE=on needs a mail server. Set SMTP_URL and MAIL_FROM.'],
    [needsMail && hasNoMail, 'CONFIRMATION_MINIMUM needs a mail server for page_email. Set SMTP_URL and MAIL_FROM.'],
    [given.has('OPERATORS') && hasNoMail, 'OPERATORS needs a mail server. Set SMTP_URL and MAIL_FROM.'],
    [given.has('OPERATORS') && isOpen, 'OPERATORS needs a BASE_URL with https:// in production.'],
    [isConsoleOn && isOpen, 'OPERATOR_CONSOLE needs a BASE_URL with https:// in production.'],
    [metricsPort === port, 'METRICS_PORT must differ from PORT.'],
    [isForwarded && isMissing('CONTRACTOR_ID'), 'CONTRACTOR_ID is required with UPSTREAM_URL.'],
    [isForwarded && isMissing('CONTRACTOR_NAME'), 'CONTRACTOR_NAME is required with UPSTREAM_URL.'],
  ];
  return rules.flatMap(([isBroken, fault]) => (isBroken ? [fault] : []));
}
