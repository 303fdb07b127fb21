/** What the command changes in the clients: pure, from one file to the next (spec §5). */
import { type Client, type ClientsFile, isExpired } from './clients.ts';
import type { Scope } from './scopes.ts';

/** A new credential: its token's digest, and when it begins and ends. */
export type NewCredential = { sha256: string; createdAt: Date; expiresAt: Date | null };

export type Change =
  | { kind: 'changed'; file: ClientsFile; credential: string }
  | { kind: 'refused'; why: 'clientExists' | 'noClient' | 'noCredential' };

/** Adds a client with its first credential; a client that exists is rotated, not issued again. */
export function issue(
  file: ClientsFile,
  name: string,
  scopes: Scope[],
  credential: NewCredential,
): Change {
  if (file.clients.some((client) => client.name === name)) {
    return { kind: 'refused', why: 'clientExists' };
  }
  const added = withCredential({ name, scopes, credentials: [] }, credential);
  return {
    kind: 'changed',
    file: { ...file, clients: [...file.clients, added.client] },
    credential: added.id,
  };
}

/** Adds a credential; the client's others end at `overlapEnds`, and what has ended already goes. */
export function rotate(
  file: ClientsFile,
  name: string,
  credential: NewCredential,
  overlapEnds: Date,
): Change {
  const client = file.clients.find((each) => each.name === name);
  if (client === undefined) return { kind: 'refused', why: 'noClient' };
  const ending = client.credentials
    .filter((each) => !isExpired(each.expires_at, credential.createdAt))
    .map((each) => ({ ...each, expires_at: earlier(each.expires_at, overlapEnds) }));
  // The number is taken before anything goes, so that an id never names two credentials in turn.
  const added = withCredential(client, credential);
  const credentials = [...ending, ...added.client.credentials.slice(-1)];
  return {
    kind: 'changed',
    file: replace(file, { ...client, credentials }),
    credential: added.id,
  };
}

/** Removes a client, or one of its credentials; the last credential takes the client with it. */
export function revoke(file: ClientsFile, name: string, credentialId: string | undefined): Change {
  const client = file.clients.find((each) => each.name === name);
  if (client === undefined) return { kind: 'refused', why: 'noClient' };
  const credentials = client.credentials.filter(
    (each) => credentialId !== undefined && each.id !== credentialId,
  );
  if (credentialId !== undefined && credentials.length === client.credentials.length) {
    return { kind: 'refused', why: 'noCredential' };
  }
  const next =
    credentials.length > 0
      ? replace(file, { ...client, credentials })
      : { ...file, clients: file.clients.filter((each) => each !== client) };
  return { kind: 'changed', file: next, credential: credentialId ?? 'all' };
}

function withCredential(client: Client, credential: NewCredential): { client: Client; id: string } {
  const numbers = client.credentials.map(({ id }) => Number(/^c_(\d{1,9})$/.exec(id)?.[1] ?? 0));
  const id = `c_${Math.max(0, ...numbers) + 1}`;
  const added = {
    id,
    sha256: credential.sha256,
    created_at: credential.createdAt.toISOString(),
    expires_at: credential.expiresAt?.toISOString() ?? null,
  };
  return { id, client: { ...client, credentials: [...client.credentials, added] } };
}

function replace(file: ClientsFile, client: Client): ClientsFile {
  const clients = file.clients.map((each) => (each.name === client.name ? client : each));
  return { ...file, clients };
}

function earlier(expiresAt: string | null, end: Date): string {
  return expiresAt !== null && Date.parse(expiresAt) < end.getTime()
    ? expiresAt
    : end.toISOString();
}
