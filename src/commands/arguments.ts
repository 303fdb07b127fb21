/** Parses values of the command line: addresses, dates, durations, numbers and names. */
import { existsSync, readFileSync } from 'node:fs';
import { timesIn } from '../console/times.ts';
import { normalize, parseEmail } from '../forms/fields.ts';
import { ExitFault, UsageFault } from './command-errors.ts';
import { type Call, unknownName } from './command-line.ts';

const DURATION = /^(\d{1,6})(m|h|d)$/;
const MILLISECONDS = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Returns an e-mail address normalized as in stored rows.
 * @throws UsageFault with the sentence. The sentence does not repeat the text, because stderr may be logged.
 */
export function parseAddress(text: string, sentence: string): string {
  const email = parseEmail(normalize(text, 'email'));
  if (email === undefined) throw new UsageFault(sentence);
  return email;
}

/** Returns a normalized e-mail address. If `given` is `-`, reads the address from standard input. */
export async function readAddress({ terminal }: Call, given: string, sentence: string) {
  return parseAddress(given === '-' ? await terminal.readLine('E-mail address:') : given, sentence);
}

/** Returns true for `localhost` and the loopback addresses, in the spelling of `URL`. */
export function isThisMachine(hostname: string): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}

/** Returns the time of an option like `2027-01-01` (midnight, UTC) or a full ISO 8601 time. */
export function timeOf({ text }: Call, option: string): Date | undefined {
  const given = text(option);
  if (given === undefined) return undefined;
  const moment = timesIn('UTC').parse(given);
  if (moment !== undefined) return moment;
  throw new UsageFault(`--${option} must be a date such as 2027-01-01 or 2027-01-01T12:00:00Z.`);
}

/** Returns the milliseconds of an option like `30m`, `24h` or `7d`. */
export function durationOf({ text }: Call, option: string, otherwise: string): number {
  const [, amount, unit] = DURATION.exec(text(option) ?? otherwise) ?? [];
  if (amount === undefined) throw new UsageFault(`--${option} must be a duration such as 30m, 24h or 7d.`);
  return Number(amount) * MILLISECONDS[unit as keyof typeof MILLISECONDS];
}

export const formatOption = { '--format FORMAT': 'csv (spreadsheet-safe) or jsonl' };

/** Returns the number of rows that `--limit` names. */
export function limitOf({ text }: Call): number | undefined {
  const given = text('limit');
  if (given === undefined) return undefined;
  if (/^[1-9]\d{0,5}$/.test(given)) return Number(given);
  throw new UsageFault('--limit must be a whole number from 1 to 999999.');
}

/** Returns the value of an option that allows only certain values. */
export function oneOf<const Value extends string>(
  { text }: Call,
  option: string,
  values: readonly Value[],
): Value | undefined {
  const given = text(option);
  const value = values.find((one) => one === given);
  if (given === undefined || value !== undefined) return value;
  throw new UsageFault(unknownName(`${option} ${given}`, given, values));
}

/** Returns the format of an export. With `--json` the format is JSON lines. */
export function formatOf({ terminal, text }: Call, otherwise?: 'jsonl'): 'csv' | 'jsonl' {
  const format = text('format') ?? (terminal.json ? 'jsonl' : otherwise);
  if (format === 'csv' || format === 'jsonl') return format;
  throw new UsageFault('--format must be csv or jsonl.');
}

/** Returns the address of a service without a slash at its end. Throws `UsageFault` for any other text. */
export function serviceUrlOf(text: string): string {
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol) && url.username + url.password === '') {
    return url.origin + url.pathname.replace(/\/$/, '');
  }
  throw new UsageFault('--url must be an http:// or https:// address without a user name.');
}

/**
 * Returns the token in a file. The error does not quote the content, because the file may contain anything.
 * @throws ExitFault if the file has no token
 */
export function readToken(path: string): string {
  const token = existsSync(path) ? readFileSync(path, 'utf8').trim() : '';
  if (/^[!-~]+$/.test(token)) return token;
  throw new ExitFault(
    `There is no token in ${path}. \`npm start\` in local mode creates it. For another file, use --token-file.`,
  );
}
