/**
 * What opens a person's page, and what its buttons need (beyond §4). None of it is kept: the secret is made of the
 * preview token, which only whoever asked has; tokens and codes are made of the keys that sign previews.
 */
import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { bounds } from '../forms/bounds.ts';
import type { SigningKeys } from '../settings/signing-keys.ts';

/** 132 bits. */
const SECRET_LENGTH = 22;
const SECRET = /^[A-Za-z0-9_-]{22}$/;

const PAGE_PURPOSE = 'lead-intake page v1\n';
const CODE_PURPOSE = 'lead-intake code v1\n';
const TOKEN = /^(\d{1,16})\.([A-Za-z0-9_-]{43})$/;

/** A code has six digits. */
const CODES = 1_000_000n;
/** Blanks, also those that do not break, hyphens and dashes, and what is not seen. */
const PARTING = /[\s\p{Dash_Punctuation}\p{Format}]/gu;

const PAGE_LIFETIME_MS = bounds.pageLifetimeMinutes * 60_000;

/** Takes the id and the preview token; returns what the address of the page ends with: the same each time. */
export function secretOf(id: string, previewToken: string): string {
  return createHmac('sha256', previewToken).update(id).digest('base64url').slice(0, SECRET_LENGTH);
}

/** What is kept of it, hex; undefined where it can be none. */
export function digestOfSecret(secret: string): string | undefined {
  return SECRET.test(secret) ? hash('sha256', secret, 'hex') : undefined;
}

/** What sending needs, for ten minutes. At least one key. */
export function sealPage([key]: SigningKeys, id: string, now: Date): string {
  if (key === undefined) throw new Error('No key to sign a page with.');
  const until = String(now.getTime() + PAGE_LIFETIME_MS);
  return `${until}.${signPage(key, id, until)}`;
}

/** Whether it was given for this confirmation, lately. */
export function isPageToken(keys: SigningKeys, id: string, token: string, now: Date): boolean {
  const [, until = '', signature = ''] = TOKEN.exec(token) ?? [];
  const isOurs = keys.some((key) => isEqual(signPage(key, id, until), signature));
  return isOurs && now.getTime() < Number(until);
}

/** The six digits of a confirmation's code of that number. At least one key. */
export function codeOf([key]: SigningKeys, id: string, number: number): string {
  if (key === undefined) throw new Error('No key to make a code with.');
  return makeCode(key, id, number);
}

/** What was typed or pasted, without what parts its digits. */
export function typedCode(given: string): string {
  return given.replaceAll(PARTING, '');
}

/** Whether these are the digits of that code. */
export function isCode(keys: SigningKeys, id: string, number: number, given: string): boolean {
  return keys.some((key) => isEqual(makeCode(key, id, number), given));
}

function makeCode(key: Buffer, id: string, number: number): string {
  const made = createHmac('sha256', key).update(`${CODE_PURPOSE}${id}\n${number}`).digest();
  return String(made.readBigUInt64BE() % CODES).padStart(6, '0');
}

function signPage(key: Buffer, id: string, until: string): string {
  return createHmac('sha256', key).update(`${PAGE_PURPOSE}${id}\n${until}`).digest('base64url');
}

function isEqual(expected: string, given: string): boolean {
  const [one, other] = [Buffer.from(expected), Buffer.from(given)];
  return one.length === other.length && timingSafeEqual(one, other);
}
