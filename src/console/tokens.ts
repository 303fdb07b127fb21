/** The secrets of the console: what a link ends with, and what a cookie holds. Neither is kept, only its digest. */
import { hash } from 'node:crypto';
import { randomSecret } from '../chance.ts';

/** 256 random bits. */
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** A new one, in base64url. */
export function newToken(): string {
  return randomSecret(32).toString('base64url');
}

/** What is kept of it, hex; undefined where it can be none of ours. */
export function digestOfToken(token: string): string | undefined {
  return TOKEN.test(token) ? hash('sha256', token, 'hex') : undefined;
}
