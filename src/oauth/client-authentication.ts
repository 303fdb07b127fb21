/** Authenticates the client of a request for a token (reference §26.6, RFC 6749 §2.3). */
import { type Credentials, digestOfToken } from '../credentials/file.ts';
import type { OauthRefusal } from '../failures/refusals.ts';
import { isDocumentAddress } from './addresses.ts';
import { isNamed } from './authorization-request.ts';
import type { Parameters } from './parameters.ts';

/** `secret` is the SHA-256 of the secret of a named client, in hex. A metadata client has none, and no credential. */
export type AuthenticatedClient = { kind: 'client'; id: string; secret: string | undefined; sandbox: boolean };

type Given = { id: string | undefined; secret: string | undefined };

const BASIC = /^basic +([A-Za-z0-9+/]+={0,2})$/i;

/**
 * Returns the client or the refusal. A named client sends one of its valid tokens as its secret, in the header or in the
 * body. A metadata client sends only its `client_id`.
 */
export function authenticate(
  { credentials, hosts }: { credentials: Credentials; hosts: readonly string[] },
  { get }: Parameters,
  authorization: readonly string[],
): AuthenticatedClient | OauthRefusal {
  const usedBasic = authorization.length > 0;
  const wrong = { kind: 'oauthClient', usedBasic } as const;
  const sent = { id: get('client_id'), secret: get('client_secret') };
  const inHeader = usedBasic ? basicIn(authorization) : undefined;
  if (usedBasic && inHeader === undefined) return wrong;
  // RFC 6749 §2.3 forbids two methods in one request.
  if (inHeader !== undefined && sent.secret !== undefined) return { kind: 'oauthRequest' };
  if (inHeader !== undefined && sent.id !== undefined && sent.id !== inHeader.id) return wrong;
  const { id, secret } = inHeader ?? sent;
  if (id === undefined) return wrong;
  if (!isNamed(credentials, id)) {
    const isDocument = secret === undefined && isDocumentAddress(id, hosts);
    return isDocument ? { kind: 'client', id, secret: undefined, sandbox: false } : wrong;
  }
  const digest = digestOfToken(secret ?? '');
  const holder = credentials.find(digest);
  return holder?.name === id ? { kind: 'client', id, secret: digest, sandbox: holder.sandbox } : wrong;
}

/** Returns the name and the secret of the scheme Basic. Both are form-urlencoded (RFC 6749 §2.3.1). */
function basicIn(lines: readonly string[]): Given | undefined {
  // A line break between two lines matches nothing.
  const encoded = BASIC.exec(lines.join('\n'))?.[1];
  if (encoded === undefined) return undefined;
  const [id = '', secret = ''] = Buffer.from(encoded, 'base64').toString('utf8').split(/:(.*)/s, 2);
  try {
    return { id: decoded(id), secret: decoded(secret) || undefined };
  } catch {
    return undefined;
  }
}

/** Decodes one form-urlencoded value. Throws `URIError` if an escape is invalid. */
function decoded(value: string): string {
  return decodeURIComponent(value.replaceAll('+', ' '));
}
