/**
 * The clients that may call the agent routes. The service reads the credentials file every two seconds. If the file is
 * invalid or missing, the service uses the last valid version (reference §16.3).
 */
import { hash, timingSafeEqual } from 'node:crypto';
import { type Clock, every } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import { isQuoted } from '../settings/environment.ts';
import { readPlainFile, readPlainFileLater } from '../storage/files.ts';
import { type ClientsFile, parseClients } from './clients.ts';

/** Interval of the readings. A change must count within 5 s (reference §16.3), also with a slow disk. */
const POLL_MS = 2_000;

export type Credentials = ReturnType<typeof openCredentials>;

/** Returns the token of a bearer credential, or undefined unless there is exactly one line with a token. */
export function bearerToken(lines: readonly string[]): string | undefined {
  const [line, second] = lines;
  if (line === undefined || second !== undefined) return undefined;
  return BEARER.exec(line)?.[1]?.replace(LEADING_SPACES, '') || undefined;
}

/**
 * Authority of a connection over OAuth (reference §26.7): the scopes that a person granted to a host, as far as the
 * client has them. `credential` is the SHA-256 of the operator's token to which the connection is bound, in hex.
 */
export type Delegation = { client: string; credential: string; scopes: ReadonlySet<string> };

/** Authority of a request: the lines of its `Authorization` header, or a delegation. */
export type Authorization = readonly string[] | Delegation;

type Caller =
  | { kind: 'client'; name: string; scopes: ReadonlySet<string>; sandbox: boolean }
  | { kind: 'missing' }
  | { kind: 'invalid' };

/** A token is checked by its digest, whatever its shape (reference §16.1). */
const BEARER = /^bearer (.+)$/i;

/** Node removes the spaces behind the token from a header's value. */
const LEADING_SPACES = /^ +/;

/**
 * Returns the client of a bearer credential (reference §16.1, RFC 6750). Takes every `Authorization` line of a request.
 * Two lines are invalid (reference §3.3).
 */
export function checkBearer(credentials: Credentials, lines: readonly string[]): Caller {
  if (lines.length === 0) return { kind: 'missing' };
  const token = bearerToken(lines);
  if (token === undefined) return { kind: 'invalid' };
  // Node gives a header one character for each byte.
  const client = credentials.find(digestOfToken(Buffer.from(token, 'latin1')));
  return client === undefined ? { kind: 'invalid' } : { kind: 'client', ...client };
}

/** Returns the client of a request, as the credentials file is now. */
export function callerOf(credentials: Credentials, authorization: Authorization): Caller {
  if (!('credential' in authorization)) return checkBearer(credentials, authorization);
  const client = credentials.find(authorization.credential);
  if (client?.name !== authorization.client) return { kind: 'invalid' };
  const scopes = client.scopes.intersection(authorization.scopes);
  return { kind: 'client', name: client.name, scopes, sandbox: client.sandbox };
}

export type ListedClient = {
  name: string;
  label?: string;
  sandbox: boolean;
  scopes: readonly string[];
  credentials: { id: string; createdAt: string; expiresAt: string | null }[];
};

/** Thrown at a start if the credentials file can't be read or is invalid. The message is a sentence. */
export class CredentialsFault extends Error {
  override name = 'CredentialsFault';
}

export type CredentialsOptions = {
  /** Path of the credentials file. If it is undefined, no credential is valid. */
  path: string | undefined;
  log: Log;
  clock: Clock;
  pollMs?: number;
};

type Holder = {
  digest: Buffer;
  name: string;
  scopes: ReadonlySet<string>;
  sandbox: boolean;
  expiresAt: string | null;
};

/**
 * Reads the file, and reads the file again every `pollMs` until `close` is called.
 * @throws CredentialsFault if the first reading fails
 */
export function openCredentials({ path, log, clock, pollMs = POLL_MS }: CredentialsOptions) {
  let { text: current, file } = path === undefined ? { text: '', file: { clients: [] } } : readAtStart(path);
  let holders = indexByDigest(file);
  let fault: string | undefined;
  const lastUses = new Map<string, Date>();

  const refuse = (sentence: string) => {
    // Each fault is logged once, not at every reading.
    if (sentence !== fault) log.error(`${sentence} The last valid file stays in force.`);
    fault = sentence;
  };
  const accept = (text: string) => {
    if (text === current && fault === undefined) return;
    const parsed = parseClients(text);
    if (parsed.kind === 'invalid') return refuse(invalid(parsed.why));
    current = text;
    fault = undefined;
    file = parsed.file;
    holders = indexByDigest(file);
    log.info({ clients: file.clients.length }, 'agent credentials reloaded');
  };
  let reading: Promise<void> | undefined;
  /** Reads the file, unless a reading is under way. Otherwise a slow reading could replace the result of a later one. */
  const read = (from: string): Promise<void> => {
    reading ??= readPlainFileLater(from)
      .then(accept, (error) => refuse(unreadable(error)))
      .finally(() => {
        reading = undefined;
      });
    return reading;
  };

  return {
    /** Finds a client by the SHA-256 of a token, in hex. Returns undefined if no valid credential has this digest. */
    find: (tokenDigest: string) => {
      const holder = holders.get(tokenDigest);
      if (holder === undefined) return undefined;
      const given = Buffer.from(tokenDigest, 'hex');
      if (given.length !== holder.digest.length || !timingSafeEqual(given, holder.digest)) return undefined;
      const now = clock.now();
      if (isExpired(holder.expiresAt, now)) return undefined;
      lastUses.set(holder.name, now);
      return { name: holder.name, scopes: holder.scopes, sandbox: holder.sandbox };
    },
    /** Returns true if the client still has a valid credential with that scope, whatever its token is. */
    mayStill: (name: string, scope: string, sandbox = false) =>
      [...holders.values()].some(
        (holder) =>
          holder.name === name &&
          holder.sandbox === sandbox &&
          holder.scopes.has(scope) &&
          !isExpired(holder.expiresAt, clock.now()),
      ),
    /** Returns the label of a client, or its name if it has no label or is no longer in the file. */
    labelOf: (name: string): string => file.clients.find((client) => client.name === name)?.label ?? name,
    /** Reads the file now, so that a change by this process counts at once. */
    reload: async (): Promise<void> => {
      if (path === undefined) return;
      // A reading that is under way may have begun before the change.
      await reading;
      await read(path);
    },
    /** `fault` is the reason why the current file is invalid. Undefined if the current file is in use. */
    state: () => ({ clients: file.clients.length, fault }),
    /** Returns the clients of the last valid file, without digests. */
    clients: (): ListedClient[] =>
      file.clients.map(({ name, label, sandbox = false, scopes, credentials }) => {
        const listed = credentials.map(({ id, created_at, expires_at }) => {
          return { id, createdAt: created_at, expiresAt: expires_at };
        });
        return { name, ...(label !== undefined && { label }), sandbox, scopes, credentials: listed };
      }),
    /** Returns when a valid token of that client last reached this process, or undefined if no valid token did. */
    lastUse: (name: string) => lastUses.get(name),
    close: path === undefined ? () => {} : every(clock, pollMs, () => void read(path)),
  };
}

/** Returns the reason why a start can't use the file. The start reports the reason with the faults of the settings. */
export function faultsOfCredentials(path: string | undefined): string[] {
  // The settings report a path in quotation marks.
  if (!path || isQuoted(path)) return [];
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
    text = readPlainFile(path);
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    const remedy = isMissing ? ' Create it with: npm run credentials -- issue NAME' : '';
    throw new CredentialsFault(`${unreadable(error)}${remedy}`);
  }
  const parsed = parseClients(text);
  if (parsed.kind === 'invalid') throw new CredentialsFault(invalid(parsed.why));
  return { text, file: parsed.file };
}

const unreadable = (error: unknown) =>
  `AGENT_CREDENTIALS_FILE names a file that can’t be read (${(error as NodeJS.ErrnoException).code}).`;

const invalid = (why: string) => `AGENT_CREDENTIALS_FILE names a file that is not valid (${why}).`;

function indexByDigest(file: ClientsFile): Map<string, Holder> {
  const holders = file.clients.flatMap(({ name, sandbox = false, scopes, credentials }) => {
    const granted = new Set<string>(scopes);
    return credentials.map(({ sha256, expires_at: expiresAt }): [string, Holder] => {
      return [sha256, { digest: Buffer.from(sha256, 'hex'), name, scopes: granted, sandbox, expiresAt }];
    });
  });
  return new Map(holders);
}

/** Returns the clients whose last credential ends before the time `before`, earliest end first (reference §12.6). */
export function endingClients(
  clients: readonly ListedClient[],
  { now, before }: { now: Date; before: Date },
): { name: string; endsAt: string }[] {
  return clients
    .flatMap(({ name, credentials }) => {
      const ends = credentials.map(({ expiresAt }) => expiresAt).filter((end) => !isExpired(end, now));
      const isSoon = ends.every((end) => end !== null && Date.parse(end) < before.getTime());
      if (ends.length === 0 || !isSoon) return [];
      const last = Math.max(...ends.map((end) => Date.parse(end ?? '')));
      return [{ name, endsAt: new Date(last).toISOString() }];
    })
    .sort((one, other) => Date.parse(one.endsAt) - Date.parse(other.endsAt));
}

/** Returns the SHA-256 of a token, in hex. Only the digest is stored. */
export function digestOfToken(token: string | Buffer): string {
  return hash('sha256', token, 'hex');
}

/** Returns true if a credential has expired. If `now` is no valid time (NaN), every end counts as past. */
export function isExpired(expiresAt: string | null, now: Date): boolean {
  return expiresAt !== null && !(now.getTime() < Date.parse(expiresAt));
}
