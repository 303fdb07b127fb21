/**
 * Tokens of credentials: `lia_`, 32 random bytes and a CRC-32, in base62 (reference §16.4). With prefix and checksum,
 * a secret scanner recognizes a token without a request to the service. Prefix and checksum protect nothing.
 */
import { crc32 } from 'node:zlib';
import { randomSecret } from '../platform/random.ts';

const PREFIX = 'lia_';
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** 62^43 is the first power over 2^256, and 62^6 the first over 2^32. */
const RANDOM_LENGTH = 43;
const CHECKSUM_LENGTH = 6;

const ISSUED = new RegExp(`^(${PREFIX}[0-9A-Za-z]{${RANDOM_LENGTH}})([0-9A-Za-z]{${CHECKSUM_LENGTH}})$`);

/** Returns a new token of 256 random bits. */
export function generateToken(): string {
  const random = BigInt(`0x${randomSecret(32).toString('hex')}`);
  const body = `${PREFIX}${toBase62(random, RANDOM_LENGTH)}`;
  return `${body}${checksumOf(body)}`;
}

/** Returns true if a text has the form and the checksum of an issued token. */
export function isIssuedToken(text: string): boolean {
  const [, body, checksum] = ISSUED.exec(text) ?? [];
  return body !== undefined && checksum === checksumOf(body);
}

function checksumOf(body: string): string {
  return toBase62(BigInt(crc32(body)), CHECKSUM_LENGTH);
}

function toBase62(number: bigint, length: number): string {
  let text = '';
  for (let rest = number; rest > 0n; rest /= 62n) text = DIGITS.charAt(Number(rest % 62n)) + text;
  return text.padStart(length, '0');
}
