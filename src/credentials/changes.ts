/** Changes of the credentials file as pure functions, from one file to the next (reference §13.6). */
import type { Client, ClientsFile, Scope } from './clients.ts';
import { isExpired } from './file.ts';

/** `sha256` is the digest of the token, in hex. */
export type NewCredential = { sha256: string; createdAt: Date; expiresAt: Date | null };

export type Change =
  | { kind: 'changed'; file: ClientsFile; credential: string }
  | { kind: 'refused'; why: 'clientExists' | 'noClient' | 'noCredential' };

/** Adds a client with its first credential. Refuses a client that exists. */
export function issue(file: ClientsFile, name: string, scopes: Scope[], credential: NewCredential): Change {
  if (file.clients.some((client) => client.name === name)) return { kind: 'refused', why: 'clientExists' };
  const added = numbered(credential, []);
  const clients = [...file.clients, { name, scopes, credentials: [added] }];
  return { kind: 'changed', file: { ...file, clients }, credential: added.id };
}

/** Adds a credential. The client's other credentials end at `overlapEnds`, and expired credentials are removed. */
export function rotate(file: ClientsFile, name: string, credential: NewCredential, overlapEnds: Date): Change {
  const client = file.clients.find((each) => each.name === name);
  if (client === undefined) return { kind: 'refused', why: 'noClient' };
  const ending = client.credentials
    .filter((each) => !isExpired(each.expires_at, credential.createdAt))
    .map((each) => ({ ...each, expires_at: earlier(each.expires_at, overlapEnds) }));
  // Removed credentials count too, so that an id never names two credentials.
  const added = numbered(credential, client.credentials);
  return { kind: 'changed', file: replace(file, client, [...ending, added]), credential: added.id };
}

/** Removes a client, or one of its credentials. To remove its last credential removes the client. */
export function revoke(file: ClientsFile, name: string, credentialId: string | undefined): Change {
  const client = file.clients.find((each) => each.name === name);
  if (client === undefined) return { kind: 'refused', why: 'noClient' };
  const credentials = client.credentials.filter((each) => credentialId !== undefined && each.id !== credentialId);
  if (credentialId !== undefined && credentials.length === client.credentials.length) {
    return { kind: 'refused', why: 'noCredential' };
  }
  return { kind: 'changed', file: replace(file, client, credentials), credential: credentialId ?? 'all' };
}

/** Returns the credential in the format of the file, with the next id. */
function numbered({ sha256, createdAt, expiresAt }: NewCredential, existing: Client['credentials']) {
  const numbers = existing.map(({ id }) => Number(/^c_(\d{1,9})$/.exec(id)?.[1] ?? 0));
  return {
    id: `c_${Math.max(0, ...numbers) + 1}`,
    sha256,
    created_at: createdAt.toISOString(),
    expires_at: expiresAt?.toISOString() ?? null,
  };
}

/** Replaces the credentials of a client. A client without credentials is removed. */
function replace(file: ClientsFile, client: Client, credentials: Client['credentials']): ClientsFile {
  const next = credentials.length > 0 ? [{ ...client, credentials }] : [];
  return { ...file, clients: file.clients.flatMap((each) => (each === client ? next : [each])) };
}

function earlier(expiresAt: string | null, end: Date): string {
  return expiresAt !== null && Date.parse(expiresAt) < end.getTime() ? expiresAt : end.toISOString();
}
