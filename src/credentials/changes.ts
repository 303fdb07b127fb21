/** Changes of the credentials file as pure functions, from one file to the next (reference §13.6). */
import type { Client, ClientsFile, Scope } from './clients.ts';
import { isExpired } from './file.ts';

/** `sha256` is the digest of the token, in hex. */
export type NewCredential = { sha256: string; createdAt: Date; expiresAt: Date | null };

export type NewClient = { name: string; label?: string | undefined; sandbox?: boolean; scopes: Scope[] };

export type Change =
  /** `credentials` are the ids of the credentials that were added or removed. */
  | { kind: 'changed'; file: ClientsFile; credentials: string[] }
  | { kind: 'refused'; why: 'clientExists' | 'noClient' | 'noCredential' };

/** Adds a client with its first credential. Refuses a client that exists. */
export function issue(
  file: ClientsFile,
  { name, label, sandbox = false, scopes }: NewClient,
  credential: NewCredential,
): Change {
  if (file.clients.some((client) => client.name === name)) return { kind: 'refused', why: 'clientExists' };
  const added = numbered(credential, []);
  const marks = { ...(label !== undefined && { label }), ...(sandbox && { sandbox }) };
  const client = { name, ...marks, scopes, credentials: [added] };
  return { kind: 'changed', file: { ...file, clients: [...file.clients, client] }, credentials: [added.id] };
}

/** Sets the label of a client. */
export function relabel(file: ClientsFile, name: string, label: string): Change {
  const client = file.clients.find((each) => each.name === name);
  if (client === undefined) return { kind: 'refused', why: 'noClient' };
  const { name: _name, label: _label, ...rest } = client;
  const clients = file.clients.map((each) => (each === client ? { name, label, ...rest } : each));
  return { kind: 'changed', file: { ...file, clients }, credentials: [] };
}

/** Adds a credential, and removes expired ones. The client's other credentials expire at `overlapEnds`. */
export function rotate(file: ClientsFile, name: string, credential: NewCredential, overlapEnds: Date): Change {
  const client = file.clients.find((each) => each.name === name);
  if (client === undefined) return { kind: 'refused', why: 'noClient' };
  const ending = client.credentials
    .filter((each) => !isExpired(each.expires_at, credential.createdAt))
    .map((each) => ({ ...each, expires_at: earlier(each.expires_at, overlapEnds) }));
  // Removed credentials count too, so that an id never names two credentials.
  const added = numbered(credential, client.credentials);
  return { kind: 'changed', file: replace(file, client, [...ending, added]), credentials: [added.id] };
}

/** Removes a client, or one of its credentials. If the last credential is removed, the client is removed too. */
export function revoke(file: ClientsFile, name: string, credentialId: string | undefined): Change {
  const client = file.clients.find((each) => each.name === name);
  if (client === undefined) return { kind: 'refused', why: 'noClient' };
  const isRemoved = ({ id }: { id: string }) => credentialId === undefined || id === credentialId;
  const removed = client.credentials.filter(isRemoved).map(({ id }) => id);
  if (credentialId !== undefined && removed.length === 0) return { kind: 'refused', why: 'noCredential' };
  const remaining = client.credentials.filter((each) => !isRemoved(each));
  return { kind: 'changed', file: replace(file, client, remaining), credentials: removed };
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
