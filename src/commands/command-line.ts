/**
 * Declares and runs all commands (reference §13.1, after clig.dev): options and help, exit statuses, data on stdout and
 * messages on stderr. A command declares its subcommands, and `runCommand` parses the arguments and runs one.
 */
import { parseArgs } from 'node:util';
import { packageVersion } from '../project.ts';
import { nearest } from '../settings/did-you-mean.ts';
import { describeFailure, ExitFault, UsageFault } from './command-errors.ts';
import { openTerminal, type Terminal, type TerminalStreams } from './terminal.ts';

/** Descriptions of options by `--name`, or by `--name VALUE` for an option with a value. */
type Options = Readonly<Record<string, string>>;

export type Call = {
  terminal: Terminal;
  /** Returns the value of a required operand, by its name. */
  operand(name: string): string;
  /** Returns the values of the repeatable operand, or an empty array. */
  others(): string[];
  flag(name: string): boolean;
  /** Returns the value of an option. If the option is repeated, returns its last value. */
  text(name: string): string | undefined;
  texts(name: string): string[];
};

type Subcommand = {
  description: string;
  /** Names of the required operands. */
  operands?: readonly string[];
  /** Name of a repeatable operand. A subcommand with it has no required operands. */
  others?: string;
  options?: Options;
  run(call: Call): Promise<void>;
};

export type Command = {
  /** The beginning of the command line, such as `npm run credentials --`. */
  invocation: string;
  description: string;
  /** Whole command lines that work. The help shows them first. */
  examples: readonly string[];
  /** Subcommands by name. The subcommand with the empty name runs if no argument names another subcommand. */
  subcommands: Readonly<Record<string, Subcommand>>;
};

const COMMON: Options = {
  '--json': 'output as JSON',
  '--help': 'this help',
  '--version': 'version of the service',
};

/** Runs a command with the arguments after its name and sets the exit status of the process. Never throws. */
export async function runCommand(
  command: Command,
  argv: readonly string[],
  streams: TerminalStreams = process,
): Promise<number> {
  const terminal = openTerminal(streams, argv.includes('--json'));
  let status = 0;
  try {
    await dispatch(command, argv, terminal);
  } catch (error) {
    status = error instanceof ExitFault ? error.status : 1;
    for (const line of describeFailure(error)) terminal.say(line);
  }
  process.exitCode = status;
  return status;
}

/** Returns a function that runs the command with the arguments after its name. */
export function runnerOf(command: Command): (argv: readonly string[]) => Promise<number> {
  return (argv) => runCommand(command, argv);
}

async function dispatch(command: Command, argv: readonly string[], terminal: Terminal) {
  if (argv.includes('--version')) return terminal.print(packageVersion());
  const { subcommands } = command;
  const [first = '-'] = argv;
  const name = Object.hasOwn(subcommands, first) ? first : '';
  const subcommand = Object.hasOwn(subcommands, name) ? subcommands[name] : undefined;
  if (subcommand === undefined && !first.startsWith('-')) {
    throw new UsageFault(unknownName(`subcommand ${first}`, first, Object.keys(subcommands)));
  }
  if (argv.includes('--help') || argv.includes('-h')) {
    for (const line of helpOf(command, name)) terminal.print(line);
  } else if (subcommand === undefined) {
    parseOptions(argv, COMMON);
    throw new UsageFault(`Missing subcommand: ${Object.keys(subcommands).join(', ')}. See --help.`);
  } else {
    await subcommand.run(parseCall(subcommand, name === '' ? argv : argv.slice(1), terminal));
  }
}

function parseCall({ operands = [], others, options }: Subcommand, argv: readonly string[], terminal: Terminal): Call {
  const { values, positionals } = parseOptions(argv, { ...COMMON, ...options });
  if (positionals.length > operands.length && others === undefined) {
    throw new UsageFault('Too many arguments. See --help.');
  }
  const missing = operands[positionals.length];
  if (missing !== undefined) throw new UsageFault(`Missing argument: <${missing}>. See --help.`);
  const texts = (name: string) => (values[name] ?? []).filter((value) => typeof value === 'string');
  return {
    terminal,
    operand: (name) => positionals[operands.indexOf(name)] ?? '',
    others: () => positionals,
    flag: (name) => values[name] !== undefined,
    text: (name) => texts(name).at(-1),
    texts,
  };
}

function parseOptions(argv: readonly string[], declared: Options) {
  const options = Object.fromEntries(
    Object.keys(declared).map((option) => {
      const [name = '', value] = option.slice(2).split(' ');
      return [name, { type: value === undefined ? 'boolean' : 'string', multiple: true } as const];
    }),
  );
  const config = { args: [...argv], options, allowPositionals: true } as const;
  for (const token of parseArgs({ ...config, strict: false, tokens: true }).tokens) {
    if (token.kind !== 'option' || Object.hasOwn(options, token.name)) continue;
    const names = Object.keys(options).map((name) => `--${name}`);
    throw new UsageFault(unknownName(`option ${token.rawName}`, token.rawName, names));
  }
  try {
    return parseArgs(config);
  } catch (error) {
    // The first line of the message names the option and its fault.
    const [sentence = ''] = (error as Error).message.split('\n');
    throw new UsageFault(`${sentence.replace(/\.$/, '')}. See --help.`);
  }
}

/** Returns one sentence about an unknown name, with the nearest name of `names`. */
export function unknownName(what: string, given: string, names: readonly string[]): string {
  const near = nearest(given, names);
  return `There is no ${what}. ${near === undefined ? 'See --help.' : `Did you mean ${near}?`}`;
}

/** Returns the help of one subcommand, or of the whole command if the name is empty. Examples come first. */
function helpOf({ invocation, description, examples, subcommands }: Command, name: string): string[] {
  const isWhole = name === '';
  const matching = examples.filter((line) => isWhole || line.startsWith(`${invocation} ${name}`));
  return [
    ...(isWhole ? [description, ''] : []),
    ...(matching.length > 0 ? ['Examples:', ...matching.map((line) => `  ${line}`), ''] : []),
    'Usage:',
    ...Object.entries(subcommands)
      .filter(([each]) => isWhole || each === name)
      .flatMap(([each, subcommand]) => usageOf(`${invocation} ${each}`.trimEnd(), subcommand)),
    ...(isWhole ? ['', 'Global options:'] : []),
    ...optionLines(COMMON, isWhole ? 2 : 6),
  ];
}

function usageOf(start: string, { operands = [], others, options = {}, description }: Subcommand) {
  const more = others === undefined ? [] : [`[<${others}>…]`];
  const line = [start, ...operands.map((operand) => `<${operand}>`), ...more].join(' ');
  return [`  ${line}`, `      ${description}`, ...optionLines(options, 6)];
}

function optionLines(options: Options, indent: number): string[] {
  const width = Math.max(0, ...Object.keys(options).map(({ length }) => length));
  return Object.entries(options).map(([name, text]) => `${' '.repeat(indent)}${name.padEnd(width)}  ${text}`);
}
