/** Settings that several variables form together, or that have several kinds. */
import { isAbsolute, join, resolve } from 'node:path';

/** Settings on which defaults of other settings depend. */
export type BasicSettings = {
  mode: 'local' | 'production';
  host: string;
  port: number;
  dataDir: string;
  operators: readonly string[];
};

export type Groups = {
  database: { kind: 'sqlite'; path: string } | { kind: 'postgres'; url: string };
  upstream: { kind: 'none' } | { kind: 'inbox' } | { kind: 'http'; url: string; secrets: readonly Buffer[] };
  mail:
    | { kind: 'none' }
    | { kind: 'files'; folder: string; from: string }
    | { kind: 'smtp'; url: string; from: string };
  operator: { name: string; contact: string | undefined };
  contractor: { id: string; name: string } | undefined;
  /** `insecure`: off, because production needs an https `BASE_URL` (reference §26.1). */
  oauth: 'on' | 'off' | 'insecure';
};

type Given = string | undefined;

/** Returns the database of DATABASE_URL (default: an SQLite file in the data folder). */
export function databaseOf(url: Given, { dataDir }: BasicSettings): Groups['database'] {
  if (url === undefined) return { kind: 'sqlite', path: join(dataDir, 'service.db') };
  if (!url.startsWith('sqlite:')) return { kind: 'postgres', url };
  const path = url.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, '');
  return { kind: 'sqlite', path: path === ':memory:' || isAbsolute(path) ? path : resolve(path) };
}

/**
 * Returns the upstream of UPSTREAM_URL and UPSTREAM_SECRET. The default is the embedded inbox in local mode, and no
 * upstream in production.
 */
export function upstreamOf(url: Given, secrets: readonly Buffer[] = [], { mode }: BasicSettings): Groups['upstream'] {
  if (url === undefined) return { kind: mode === 'local' ? 'inbox' : 'none' };
  return url === 'inbox:' ? { kind: 'inbox' } : { kind: 'http', url, secrets };
}

/**
 * Returns the mailer of SMTP_URL and MAIL_FROM. By default local mode writes messages as files, and production sends no
 * mail.
 */
export function mailOf(url: Given, from: Given, { mode, dataDir }: BasicSettings): Groups['mail'] {
  if (url !== undefined && from !== undefined) return { kind: 'smtp', url, from };
  if (mode === 'production') return { kind: 'none' };
  return { kind: 'files', folder: join(dataDir, 'mail'), from: from ?? 'service@localhost.invalid' };
}

/**
 * Returns the contractor of CONTRACTOR_ID and CONTRACTOR_NAME. The default is a sample in local mode, and no contractor
 * in production.
 */
export function contractorOf(id: Given, name: Given, { mode }: BasicSettings): Groups['contractor'] {
  if (mode === 'local') return { id: id ?? 'sample-contractor', name: name ?? 'Sample Painting Company' };
  return id !== undefined && name !== undefined ? { id, name } : undefined;
}

/** Returns whether hosts can connect with OAuth. The default is that of MCP, without which OAuth is off. */
export function oauthOf(
  given: Given,
  { mode, mcp, baseUrl }: { mode: BasicSettings['mode']; mcp: 'on' | 'off'; baseUrl: string },
): Groups['oauth'] {
  if (mcp === 'off' || given === 'off') return 'off';
  return mode === 'production' && !/^https:/i.test(baseUrl) ? 'insecure' : 'on';
}

/** `MAIL_FROM` (reference §20.3): an address, or `Name <address>`. */
export type Sender = { name: string; address: string };

const NAMED = /^([^<]*)<([^<>]*)>$/;

/** Parses the trimmed text. The name may be empty, and the address is not validated. */
export function parseSender(from: string): Sender {
  const [, name = '', address = from] = NAMED.exec(from) ?? [];
  return { name: name.trim().replace(/^"(.*)"$/s, '$1'), address };
}
