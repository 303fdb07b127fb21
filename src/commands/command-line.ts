/**
 * What every command shares (contract §1, after clig.dev): flags and help, exit statuses, data on
 * stdout and words on stderr. A command declares its actions; `runCommand` does the rest.
 */
import { parseArgs } from 'node:util';
import { nearest } from '../settings/nearest.ts';
import type { Action, Call, Command, Option } from './command.ts';
import { describeFailure, ExitFault, UsageFault } from './faults.ts';
import { actionHelp, commandHelp } from './help.ts';
import { openTerminal, type Terminal, type TerminalStreams } from './terminal.ts';
import { packageVersion } from './version.ts';

const COMMON: Readonly<Record<string, Option>> = {
  json: { type: 'boolean', meaning: 'the same as JSON on standard output' },
  help: { type: 'boolean', meaning: 'this text' },
  version: { type: 'boolean', meaning: 'the version of the service' },
};

/** Runs a command with its arguments and sets the exit status of the process; never throws. */
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
    terminal.say(describeFailure(error));
  }
  process.exitCode = status;
  return status;
}

/** Takes a declared command; returns what runs it with the arguments after its name. */
export function runnerOf(command: Command): (argv: readonly string[]) => Promise<number> {
  return (argv) => runCommand(command, argv);
}

async function dispatch(command: Command, argv: readonly string[], terminal: Terminal) {
  if (argv.includes('--version')) return terminal.print(packageVersion());
  const [first] = argv;
  const isNamed = first !== undefined && Object.hasOwn(command.actions, first);
  // The action without a name takes what names no other.
  const wanted = isNamed || !Object.hasOwn(command.actions, '') ? first : '';
  const asksForHelp = argv.includes('--help') || argv.includes('-h');
  if (wanted === undefined || wanted.startsWith('-')) {
    if (asksForHelp) return terminal.print(commandHelp(command, COMMON));
    refuseUnknownOption(argv, COMMON);
    throw new UsageFault(`Say which: ${Object.keys(command.actions).join(', ')}. See --help.`);
  }
  const action = Object.hasOwn(command.actions, wanted) ? command.actions[wanted] : undefined;
  if (action === undefined) {
    throw new UsageFault(unknownName(`subcommand ${wanted}`, wanted, Object.keys(command.actions)));
  }
  if (asksForHelp) {
    const isWhole = wanted === '';
    return terminal.print(
      isWhole ? commandHelp(command, COMMON) : actionHelp(command, wanted, COMMON),
    );
  }
  await action.run(parse(action, wanted === '' ? argv : argv.slice(1), terminal));
}

function parse(action: Action, argv: readonly string[], terminal: Terminal): Call {
  const { operands = [] } = action;
  const options = { ...COMMON, ...action.options };
  refuseUnknownOption(argv, options);
  const { values, positionals } = parseStrictly(argv, options);
  if (positionals.length > operands.length && action.others === undefined) {
    throw new UsageFault('There is an argument too many; see --help.');
  }
  const missing = operands[positionals.length];
  if (missing !== undefined) throw new UsageFault(`<${missing}> is missing; see --help.`);
  return {
    terminal,
    operand: (name) => positionals[operands.indexOf(name)] ?? '',
    others: () => positionals.slice(operands.length),
    flag: (name) => values[name] === true,
    text: (name) => (typeof values[name] === 'string' ? values[name] : undefined),
    texts: (name) => [values[name] ?? []].flat().filter((value) => typeof value === 'string'),
  };
}

function refuseUnknownOption(argv: readonly string[], options: Readonly<Record<string, Option>>) {
  const config = { args: [...argv], options, strict: false, tokens: true } as const;
  const { tokens } = parseArgs(config);
  for (const token of tokens) {
    if (token.kind !== 'option' || Object.hasOwn(options, token.name)) continue;
    const names = Object.keys(options).map((name) => `--${name}`);
    throw new UsageFault(unknownName(`option ${token.rawName}`, token.rawName, names));
  }
}

function parseStrictly(argv: readonly string[], options: Readonly<Record<string, Option>>) {
  try {
    return parseArgs({ args: [...argv], options, allowPositionals: true });
  } catch (error) {
    // parseArgs names the option alone, and says what is wrong with it on its first line.
    const [first = ''] = (error as Error).message.split('\n');
    throw new UsageFault(`${first.replace(/\.$/, '')}; see --help.`);
  }
}

/** One sentence about a name that does not exist, with the nearest that does. */
export function unknownName(what: string, given: string, names: readonly string[]): string {
  const near = nearest(given, names);
  return `There is no ${what}${near === undefined ? '; see --help.' : `: did you mean ${near}?`}`;
}
