/** The help of a command, examples first (clig.dev). */
import type { Command, Option } from './command.ts';

type Options = Readonly<Record<string, Option>>;

/** The help of a whole command: its examples, its subcommands, and the options of each. */
export function commandHelp(command: Command, common: Options): string {
  return [
    command.meaning,
    '',
    'Examples:',
    ...command.examples.map((example) => `  ${example}`),
    '',
    'Usage:',
    ...Object.keys(command.actions).flatMap((name) => actionLines(command, name)),
    '',
    'With all of them:',
    ...optionLines(common, 2),
  ].join('\n');
}

/** The help of one subcommand. */
export function actionHelp(command: Command, name: string, common: Options): string {
  const start = `${command.invocation} ${name}`;
  const examples = command.examples.filter((example) => example.startsWith(start));
  return [
    ...(examples.length > 0 ? ['Examples:', ...examples.map((example) => `  ${example}`), ''] : []),
    'Usage:',
    ...actionLines(command, name),
    ...optionLines(common, 6),
  ].join('\n');
}

function actionLines(command: Command, name: string): string[] {
  const action = command.actions[name];
  if (action === undefined) return [];
  const { operands = [], others, options = {}, meaning } = action;
  const wanted = operands.map((operand) => `<${operand}>`);
  const more = others === undefined ? [] : [`[<${others}>…]`];
  const line = [command.invocation, name, ...wanted, ...more]
    .filter((word) => word !== '')
    .join(' ');
  return [`  ${line}`, `      ${meaning}`, ...optionLines(options, 6)];
}

function optionLines(options: Options, indent: number): string[] {
  const rows = Object.entries(options).map(([name, option]) => ({
    flag: option.type === 'string' ? `--${name} ${option.value ?? 'VALUE'}` : `--${name}`,
    meaning: option.meaning,
  }));
  const width = Math.max(0, ...rows.map(({ flag }) => flag.length));
  return rows.map(({ flag, meaning }) => `${' '.repeat(indent)}${flag.padEnd(width)}  ${meaning}`);
}
