import { type Form, type FormName, forms } from '../../src/forms/catalog.ts';
import { pathsOfPage } from '../../src/routes.ts';
import { type Answer, call } from './agent.ts';
import type { Service } from './service.ts';

/** Names of the declared forms. */
export const formNames = Object.keys(forms) as FormName[];

/** The forms that browsers post to `/api/leads`. */
export const leadForms = Object.values(forms).filter(({ event }) => event === 'lead.created');

/** Paths of the pages that carry a form. */
export const formPages = Object.values(forms).map(({ page }) => pathsOfPage(page).path);

/** Returns the address in the field for e-mail, and the text in every other field of a form. */
export function filledWith({ fields }: Form, text: string, email: string): Record<string, string> {
  return Object.fromEntries(fields.map(({ name, kind }) => [name, kind === 'email' ? email : text]));
}

export type Encoding = 'json' | 'urlencoded' | 'multipart';

export const natives = ['urlencoded', 'multipart'] as const;
export const encodings = ['json', ...natives] as const;

const boundary = '----boundary-of-the-tests';

/** Returns a multipart body with these parts. A part may have a head of its own. */
export function multipart(parts: readonly (readonly [name: string, value: string | Buffer, head?: string])[]): Buffer {
  const pieces = parts.flatMap(([name, value, head]) => [
    Buffer.from(`--${boundary}\r\n${head ?? `Content-Disposition: form-data; name="${name}"`}\r\n\r\n`),
    Buffer.from(value),
    Buffer.from('\r\n'),
  ]);
  return Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]);
}

const types: Record<Encoding, string> = {
  json: 'application/json',
  urlencoded: 'application/x-www-form-urlencoded',
  multipart: `multipart/form-data; boundary=${boundary}`,
};

/** Returns the fields as a body in this encoding. */
export function encode(encoding: Encoding, fields: Record<string, string>): string | Buffer {
  if (encoding === 'json') return JSON.stringify(fields);
  if (encoding === 'urlencoded') return new URLSearchParams(fields).toString();
  return multipart(Object.entries(fields));
}

/** Posts raw bytes with the content type of this encoding. */
export function postRaw(
  service: Pick<Service, 'url'>,
  path: string,
  encoding: Encoding,
  body: string | Buffer,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return call(service, path, { headers: { 'content-type': types[encoding], ...headers }, body });
}

/** Posts fields in this encoding. */
export function post(
  service: Pick<Service, 'url'>,
  path: string,
  encoding: Encoding,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return postRaw(service, path, encoding, encode(encoding, fields), headers);
}
