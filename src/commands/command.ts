/** How a command is declared: its actions, and what each takes. */
import type { Terminal } from './terminal.ts';

export type Option = {
  type: 'string' | 'boolean';
  multiple?: boolean;
  /** What stands for the value in the help. */
  value?: string;
  meaning: string;
};

export type Call = {
  terminal: Terminal;
  /** The value of an operand, by its name. */
  operand(name: string): string;
  /** What there is of the operand that may be there any number of times. */
  others(): string[];
  flag(name: string): boolean;
  text(name: string): string | undefined;
  texts(name: string): string[];
};

export type Action = {
  meaning: string;
  /** The names of its operands, where it takes any: all are required. */
  operands?: readonly string[];
  /** The name of an operand that may come behind those any number of times, or not at all. */
  others?: string;
  options?: Readonly<Record<string, Option>>;
  run(call: Call): Promise<void>;
};

export type Command = {
  /** As it is run: `npm run credentials --`. */
  invocation: string;
  meaning: string;
  /** Whole lines that work, shown before anything else. */
  examples: readonly string[];
  /** By subcommand; the empty name is a command that has none. */
  actions: Readonly<Record<string, Action>>;
};
