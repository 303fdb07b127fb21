/** `npm run settings`: prints every setting and its source, with secrets hidden (reference §13.2). */
import type { LoadedEnvironment } from '../settings/environment.ts';
import type { Settings } from '../settings/settings.ts';
import { fileVariable, type VariableName, variables } from '../settings/variables.ts';
import { type Call, runnerOf } from './command-line.ts';
import { loadSettings } from './open-store.ts';
import { printTable, tableOf } from './terminal.ts';

export const run = runnerOf({
  invocation: 'npm run settings --',
  description: 'Prints every setting with its value and its source. Secrets are hidden.',
  examples: ['npm run settings', 'npm run --silent settings -- --json'],
  subcommands: { '': { description: 'Print all settings', run: show } },
});

type Row = {
  name: VariableName;
  /** Value in force. Null if the setting has neither a value nor a default. */
  value: string | null;
  source: 'environment' | '.env' | 'file' | 'default';
};

async function show({ terminal }: Call): Promise<void> {
  const { settings, loaded } = loadSettings();
  const names = Object.keys(variables) as VariableName[];
  const rows = names.map((name) => rowOf(name, settings, loaded));
  if (terminal.json) return terminal.print(JSON.stringify(rows));
  const cells = rows.map(({ name, value, source }) => [name, value ?? '-', source]);
  printTable(terminal, tableOf([['VARIABLE', 'VALUE', 'SOURCE'], ...cells]));
}

function rowOf(name: VariableName, settings: Settings, loaded: LoadedEnvironment): Row {
  const file = fileVariable(name);
  // An empty variable counts as not set.
  const given = Boolean(loaded.environment[name]);
  const givenAsFile = file !== undefined && Boolean(loaded.environment[file]);
  const isSecret = file !== undefined && (given || givenAsFile);
  const isHidden = isSecret && !('shownIfSet' in variables[name]);
  const value = isHidden ? '(set)' : (inForce(name, settings) ?? null);
  const source = givenAsFile ? 'file' : given ? loaded.origins(name) : undefined;
  return { name, value, source: source ?? 'default' };
}

/** Returns the value in force: the text that the variable's entry defines, or the value itself. */
function inForce(name: VariableName, settings: Settings): string | undefined {
  const variable = variables[name];
  if ('shown' in variable) return variable.shown(settings);
  const value = settings[variable.setting];
  return Array.isArray(value) ? value.join(',') || undefined : value?.toString();
}
