/**
 * Issues, rotates, revokes and labels clients in the credentials file. Command and console both call these functions
 * (reference §16.4). A function returns a refusal as a value.
 * @throws EditFault if the file can't be read or written
 */
import { type Change, issue, type NewClient, relabel, revoke, rotate } from './changes.ts';
import { type ClientsFile, labelIn } from './clients.ts';
import { editClients } from './edit.ts';
import { digestOfToken } from './file.ts';
import { generateToken } from './tokens.ts';

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

/** The client and the ids of the credentials that were added or removed. */
export type ChangedClient = { client: string; credentials: string[] };

export type ManagedFile = {
  path: string;
  now: Date;
  /** Called before the file is replaced. If it throws, the file stays as it is. */
  beforeReplace?: (changed: ChangedClient) => Promise<void>;
};

export type RefusedChange = {
  kind: 'refused';
  why: Extract<Change, { kind: 'refused' }>['why'] | 'badName' | 'badLabel' | 'endIsPast';
};

type Managed<Result = ChangedClient> = ({ kind: 'changed' } & Result) | RefusedChange;

/** The token of a new credential. No file and no table contains it. */
type Issued = ChangedClient & { credential: string; token: string };

/** Adds a client with a credential. */
export async function issueCredential(
  file: ManagedFile,
  { expiresAt, label: typed, ...client }: NewClient & { expiresAt: Date | null },
): Promise<Managed<Issued>> {
  const label = typed === undefined ? undefined : labelIn(typed);
  if (!NAME.test(client.name)) return { kind: 'refused', why: 'badName' };
  if (typed !== undefined && label === undefined) return { kind: 'refused', why: 'badLabel' };
  return await addCredential(file, client.name, expiresAt, (clients, credential) =>
    issue(clients, { ...client, label }, credential),
  );
}

/** Adds a credential to a client. The client's other credentials end after the overlap. */
export function rotateCredential(
  file: ManagedFile,
  { name, overlapMs, expiresAt }: { name: string; overlapMs: number; expiresAt: Date | null },
): Promise<Managed<Issued>> {
  const overlapEnds = new Date(file.now.getTime() + overlapMs);
  return addCredential(file, name, expiresAt, (clients, credential) => rotate(clients, name, credential, overlapEnds));
}

/** Removes a client or one of its credentials. */
export function revokeCredential(
  file: ManagedFile,
  { name, credential }: { name: string; credential: string | undefined },
): Promise<Managed> {
  return edit(file, name, (clients) => revoke(clients, name, credential));
}

/** Sets the label of a client. */
export async function labelClient(
  file: ManagedFile,
  name: string,
  typed: string,
): Promise<Managed<ChangedClient & { label: string }>> {
  const label = labelIn(typed);
  if (label === undefined) return { kind: 'refused', why: 'badLabel' };
  const edited = await edit(file, name, (clients) => relabel(clients, name, label));
  return edited.kind === 'refused' ? edited : { ...edited, label };
}

async function addCredential(
  file: ManagedFile,
  name: string,
  expiresAt: Date | null,
  change: (clients: ClientsFile, credential: Parameters<typeof issue>[2]) => Change,
): Promise<Managed<Issued>> {
  if (expiresAt !== null && expiresAt <= file.now) return { kind: 'refused', why: 'endIsPast' };
  const token = generateToken();
  const credential = { sha256: digestOfToken(token), createdAt: file.now, expiresAt };
  const edited = await edit(file, name, (clients) => change(clients, credential));
  return edited.kind === 'refused' ? edited : { ...edited, credential: edited.credentials[0] ?? '', token };
}

async function edit(
  { path, beforeReplace }: ManagedFile,
  client: string,
  change: (clients: ClientsFile) => Change,
): Promise<Managed> {
  let outcome = { kind: 'refused', why: 'noClient' } as Change;
  const changedClient = () => ({ client, credentials: outcome.kind === 'changed' ? outcome.credentials : [] });
  await editClients(
    path,
    (clients) => {
      outcome = change(clients);
      return outcome.kind === 'changed' ? outcome.file : undefined;
    },
    async () => beforeReplace?.(changedClient()),
  );
  return outcome.kind === 'changed' ? { kind: 'changed', ...changedClient() } : outcome;
}
