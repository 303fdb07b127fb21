/**
 * The clients that may call the agent routes, from the credentials file, which is read again every
 * two seconds. A broken or vanished file is refused and the last good one stays (contract §2).
 */
import { timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { type Clock, every } from '../clock.ts';
import type { Log } from '../operations/log.ts';
import { type ClientsFile, isExpired, parseClients } from './clients.ts';

/** A change counts within 5 s (contract §2): two readings fit into that, and a slow disk. */
const POLL_MS = 2_000;

export type Credentials = {
  /** Takes the SHA-256 of a token, hex; undefined where nobody holds it or it has expired. */
  find(tokenDigest: string): { name: string; scopes: ReadonlySet<string> } | undefined;
  /** Whether a client of that name has a valid credential with that scope, whatever its token is. */
  mayStill(name: string, scope: string): boolean;
  state(): CredentialsState;
  /** Who may call, as the file that is in force says it: nothing that a token could be found by. */
  clients(): ListedClient[];
  /** When a valid token of that client was last sent to this process; undefined where none was since its start. */
  lastUse(name: string): Date | undefined;
  close(): void;
};

export type ListedClient = {
  name: string;
  scopes: readonly string[];
  credentials: { id: string; createdAt: string; expiresAt: string | null }[];
};

type CredentialsState = {
  clients: number;
  /** Why the file as it stands now is refused; undefined while it is in force. */
  fault: string | undefined;
};

/** The named credentials file can't be read, or isn't valid, at the start: its message says which. */
export class CredentialsFault extends Error {
  override name = 'CredentialsFault';
}

export type CredentialsOptions = {
  /** Undefined: no credential is valid. */
  path: string | undefined;
  log: Log;
  clock: Clock;
  pollMs?: number;
};

type Holder = {
  digest: Buffer;
  name: string;
  scopes: ReadonlySet<string>;
  expiresAt: string | null;
};

/** Reads the file and keeps reading it; throws `CredentialsFault` where the first reading fails. */
export function openCredentials(options: CredentialsOptions): Credentials {
  const { path, log, clock, pollMs = POLL_MS } = options;
  if (path === undefined) {
    return {
      find: () => undefined,
      mayStill: () => false,
      state: () => ({ clients: 0, fault: undefined }),
      clients: () => [],
      lastUse: () => undefined,
      close: () => {},
    };
  }

  let { text: seen, file } = readAtStart(path);
  let holders = indexByDigest(file);
  let fault: string | undefined;
  const lastUses = new Map<string, Date>();

  const refuse = (sentence: string) => {
    // Once for each fault, not at every reading.
    if (sentence !== fault) log.error(`${sentence} The last good one stays in force.`);
    fault = sentence;
  };
  const take = (text: string) => {
    if (text === seen && fault === undefined) return;
    const parsed = parseClients(text);
    if (parsed.kind === 'invalid') return refuse(invalid(parsed.why));
    seen = text;
    fault = undefined;
    file = parsed.file;
    holders = indexByDigest(file);
    log.info({ clients: file.clients.length }, 'the agent credentials were read again');
  };
  const stopReading = every(clock, pollMs, () => {
    readFile(path, 'utf8').then(take, (error) => refuse(unreadable(error)));
  });

  return {
    find: (tokenDigest) => {
      const holder = holders.get(tokenDigest);
      if (holder === undefined) return undefined;
      const given = Buffer.from(tokenDigest, 'hex');
      if (given.length !== holder.digest.length || !timingSafeEqual(given, holder.digest)) {
        return undefined;
      }
      const now = clock.now();
      if (isExpired(holder.expiresAt, now)) return undefined;
      lastUses.set(holder.name, now);
      return { name: holder.name, scopes: holder.scopes };
    },
    mayStill: (name, scope) =>
      [...holders.values()].some(
        (holder) =>
          holder.name === name &&
          holder.scopes.has(scope) &&
          !isExpired(holder.expiresAt, clock.now()),
      ),
    state: () => ({ clients: file.clients.length, fault }),
    clients: () => file.clients.map(listed),
    lastUse: (name) => lastUses.get(name),
    close: stopReading,
  };
}

function listed({ name, scopes, credentials }: ClientsFile['clients'][number]): ListedClient {
  return {
    name,
    scopes,
    credentials: credentials.map(({ id, created_at: createdAt, expires_at: expiresAt }) => ({
      id,
      createdAt,
      expiresAt,
    })),
  };
}

/** Takes AGENT_CREDENTIALS_FILE; returns why a start could not use the file, beside other faults of the settings. */
export function faultsOfCredentials(path: string | undefined): string[] {
  if (!path) return [];
  try {
    readAtStart(path);
    return [];
  } catch (error) {
    return [(error as CredentialsFault).message];
  }
}

function readAtStart(path: string): { text: string; file: ClientsFile } {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    const remedy = isMissing ? ' This makes it: npm run credentials -- issue NAME' : '';
    throw new CredentialsFault(`${unreadable(error)}${remedy}`);
  }
  const parsed = parseClients(text);
  if (parsed.kind === 'invalid') throw new CredentialsFault(invalid(parsed.why));
  return { text, file: parsed.file };
}

function unreadable(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  return `AGENT_CREDENTIALS_FILE names a file that can’t be read (${code}).`;
}

function invalid(why: string): string {
  return `AGENT_CREDENTIALS_FILE names a file that is not valid (${why}).`;
}

function indexByDigest(file: ClientsFile): Map<string, Holder> {
  const holders = new Map<string, Holder>();
  for (const { name, scopes, credentials } of file.clients) {
    const granted = new Set<string>(scopes);
    for (const { sha256, expires_at } of credentials) {
      const digest = Buffer.from(sha256, 'hex');
      holders.set(sha256, { digest, name, scopes: granted, expiresAt: expires_at });
    }
  }
  return holders;
}
