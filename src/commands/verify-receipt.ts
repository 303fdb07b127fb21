/** `npm run verify-receipt`: verifies a signed receipt. The command needs no database (reference §7.4). */
import { readFileSync } from 'node:fs';
import { readBody } from '../http/response.ts';
import { userAgent } from '../project.ts';
import { readKeys, type VerificationKeys, verifyReceipt } from '../receipts/verify.ts';
import { routes } from '../routes.ts';
import { isThisMachine } from './arguments.ts';
import { ExitFault, UsageFault } from './command-errors.ts';
import { type Call, runnerOf } from './command-line.ts';
import { loadSettings } from './open-store.ts';
import { type Terminal, tableOf } from './terminal.ts';

/** Time limit from the request to the last byte of the keys. */
const FETCH_TIMEOUT_MS = 10_000;
const KEYS_MAXIMUM_BYTES = 64 * 1024;

export const run = runnerOf({
  invocation: 'npm run verify-receipt --',
  description:
    'Verifies a signed receipt and prints its claims. Exit status 0 means valid, 1 not valid, and 2 that the receipt or the keys can’t be read.',
  examples: [
    'npm run verify-receipt -- receipt.json',
    'npm run verify-receipt -- receipt.json --issuer https://paint.example',
    'npm run verify-receipt -- receipt.txt --issuer https://paint.example --jwks jwks.json',
  ],
  subcommands: {
    '': {
      description: 'Verify the JSON of a receipt as the service answers it, or a JWT with its disclosures',
      operands: ['file'],
      options: {
        '--jwks FILE|URL': `keys of the issuer (default: its ${routes.getReceiptKeys.path})`,
        '--issuer URL': 'required issuer (default: BASE_URL)',
      },
      run: verify,
    },
  },
});

async function verify({ terminal, operand, text }: Call): Promise<void> {
  const receipt = readText(operand('file'));
  const issuer = text('issuer')?.replace(/\/$/, '') ?? loadSettings().settings.baseUrl;
  const place = text('jwks') ?? issuer + routes.getReceiptKeys.path;
  if (isUnprotected(place)) terminal.say(UNPROTECTED);
  const keys = await keysFrom(place);
  const verified = verifyReceipt(receipt, { keys, issuer });
  if (verified.kind === 'invalid') {
    if (terminal.json) terminal.print(JSON.stringify({ valid: false, why: verified.why }));
    throw new ExitFault(`Not valid. ${verified.why}`);
  }
  const { claims, fields } = verified;
  if (terminal.json) {
    return terminal.print(JSON.stringify({ valid: true, claims, fields: Object.fromEntries(fields) }));
  }
  terminal.print({ emphasis: 'good', text: 'Valid.' });
  if (claims.sandbox === true) terminal.print('This receipt is of a test. Nothing was sent.');
  printAll(terminal, 'Claims', Object.entries(claims));
  if (fields.length > 0) printAll(terminal, 'Fields', fields);
}

/** Prints values as JSON, so that a text differs from a number and its end is visible. */
function printAll(terminal: Terminal, head: string, values: readonly [string, unknown][]): void {
  terminal.print({ emphasis: 'bold', text: head });
  const rows = values.map(([name, value]) => [name, JSON.stringify(value)]);
  for (const line of tableOf(rows)) terminal.print(`  ${line}`);
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    throw new UsageFault(`${path} can’t be read.`);
  }
}

const UNPROTECTED =
  'The keys come over http, so others on the network can replace them. Use https, or a file with --jwks.';

function isUnprotected(place: string): boolean {
  const url = URL.parse(place);
  return url?.protocol === 'http:' && !isThisMachine(url.hostname);
}

/** Reads keys from the address or the file that the caller names, never from an address that the receipt names. */
async function keysFrom(place: string): Promise<VerificationKeys> {
  const text = /^https?:\/\//i.test(place) ? await fetchText(place) : readText(place);
  try {
    const keys = readKeys(JSON.parse(text));
    if (keys !== undefined) return keys;
  } catch {}
  throw new UsageFault(`There are no keys at ${place}.`);
}

async function fetchText(address: string): Promise<string> {
  const signal = AbortSignal.timeout(FETCH_TIMEOUT_MS);
  const headers = { 'user-agent': userAgent() };
  const body = await fetch(address, { headers, redirect: 'error', signal })
    .then((response) => (response.ok ? readBody(response, KEYS_MAXIMUM_BYTES) : undefined))
    .catch(() => undefined);
  if (body !== undefined) return body.toString();
  throw new UsageFault(`${address} returned no keys of at most 64 KB within 10 s. --jwks also accepts a file.`);
}
