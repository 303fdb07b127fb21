/**
 * Tokens that the command issues: `lia_`, 32 random bytes and a CRC-32, all in base62. Prefix and
 * checksum let a secret scanner recognise one without asking the service; they protect nothing.
 */
import { hash } from 'node:crypto';
import { randomSecret } from '../chance.ts';
import { once, require } from '../once.ts';

/** Loaded with the first token that is issued or looked at: a service in production does neither. */
const zlib = once((): typeof import('node:zlib') => require('node:zlib'));

const PREFIX = 'lia_';
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** 62^43 is the first power over 2^256, and 62^6 the first over 2^32. */
const RANDOM_LENGTH = 43;
const CHECKSUM_LENGTH = 6;

const ISSUED = new RegExp(
  `^(${PREFIX}[0-9A-Za-z]{${RANDOM_LENGTH}})([0-9A-Za-z]{${CHECKSUM_LENGTH}})$`,
);

/** A new token of 256 random bits; letters and digits alone, so that a double click takes it whole. */
export function generateToken(): string {
  const random = BigInt(`0x${randomSecret(32).toString('hex')}`);
  const body = `${PREFIX}${toBase62(random, RANDOM_LENGTH)}`;
  return `${body}${checksumOf(body)}`;
}

/** Whether a text has the form and the checksum of a token that was issued here. */
export function isIssuedToken(text: string): boolean {
  const [, body, checksum] = ISSUED.exec(text) ?? [];
  return body !== undefined && checksum === checksumOf(body);
}

/** What is kept of a token: its SHA-256, hex. */
export function digestOfToken(token: string | Buffer): string {
  return hash('sha256', token, 'hex');
}

function checksumOf(body: string): string {
  return toBase62(BigInt(zlib().crc32(body)), CHECKSUM_LENGTH);
}

function toBase62(number: bigint, length: number): string {
  let text = '';
  for (let rest = number; rest > 0n; rest /= 62n) text = DIGITS.charAt(Number(rest % 62n)) + text;
  return text.padStart(length, '0');
}
