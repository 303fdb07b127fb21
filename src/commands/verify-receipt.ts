/** `npm run verify-receipt`: whether a signed receipt is what its issuer signed; needs no database (beyond §5). */
import { readFileSync } from 'node:fs';
import { readKeys, type VerificationKeys, verifyReceipt } from '../receipts/verify.ts';
import { routes } from '../routes.ts';
import type { Call, Command } from './command.ts';
import { runCommand } from './command-line.ts';
import { loadSettings } from './configuration.ts';
import { ExitFault, UsageFault } from './faults.ts';
import type { Terminal } from './terminal.ts';

const FETCH_TIMEOUT_MS = 10_000;

const command: Command = {
  invocation: 'npm run verify-receipt --',
  meaning:
    'Verifies a signed receipt, and prints what it says. Exit status 0: valid; 1: not; 2: it, or the keys, can’t be read.',
  examples: [
    'npm run verify-receipt -- receipt.json',
    'npm run verify-receipt -- receipt.json --issuer https://paint.example',
    'npm run verify-receipt -- receipt.txt --issuer https://paint.example --jwks jwks.json',
  ],
  actions: {
    '': {
      meaning: 'the JSON of a receipt as the service answers it, or the JWT with its disclosures',
      operands: ['file'],
      options: {
        jwks: {
          type: 'string',
          value: 'FILE|URL',
          meaning: `the issuer’s keys, else those at its ${routes.getReceiptKeys.path}`,
        },
        issuer: { type: 'string', value: 'URL', meaning: 'who must have signed it, else BASE_URL' },
      },
      run: verify,
    },
  },
};

/** Takes the arguments after the command's name. */
export function run(argv: readonly string[]): Promise<number> {
  return runCommand(command, argv);
}

async function verify({ terminal, operand, text }: Call): Promise<void> {
  const receipt = readText(operand('file'));
  const issuer = text('issuer')?.replace(/\/$/, '') ?? loadSettings().settings.baseUrl;
  const keys = await keysFrom(text('jwks') ?? issuer + routes.getReceiptKeys.path);
  const verified = verifyReceipt(receipt, { keys, issuer });
  if (verified.kind === 'invalid') {
    if (terminal.json) terminal.print(JSON.stringify({ valid: false, why: verified.why }));
    throw new ExitFault(`Not valid. ${verified.why}`);
  }
  const { claims, fields } = verified;
  if (terminal.json) {
    return terminal.print(
      JSON.stringify({ valid: true, claims, fields: Object.fromEntries(fields) }),
    );
  }
  terminal.print(terminal.emphasize('good', 'Valid.'));
  printAll(terminal, 'Claims', Object.entries(claims));
  if (fields.length > 0) printAll(terminal, 'Fields', fields);
}

/** As JSON strings: what was typed may hold what a terminal obeys. */
function printAll(terminal: Terminal, head: string, values: readonly [string, unknown][]): void {
  terminal.print(terminal.emphasize('bold', head));
  const width = Math.max(...values.map(([name]) => name.length));
  for (const [name, value] of values) {
    terminal.print(`  ${name.padEnd(width)}  ${printable(value)}`);
  }
}

function printable(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    throw new UsageFault(`${path} can’t be read.`);
  }
}

/** From an address or a file that the caller names, never from one that the receipt names. */
async function keysFrom(place: string): Promise<VerificationKeys> {
  const text = /^https?:\/\//i.test(place) ? await fetchText(place) : readText(place);
  const keys = readKeys(parse(text));
  if (keys === undefined) throw new UsageFault(`There are no keys at ${place}.`);
  return keys;
}

async function fetchText(address: string): Promise<string> {
  const response = await fetch(address, {
    redirect: 'error',
    signal: AbortSignal.timeout(FETCH_TIMEOUT_MS),
  }).catch(() => undefined);
  if (response?.ok !== true) {
    throw new UsageFault(`The keys at ${address} can’t be had; --jwks takes a file as well.`);
  }
  return await response.text();
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
