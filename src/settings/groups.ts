/** The settings that several variables make together, or one that stands for different things. */
import { isAbsolute, join, resolve } from 'node:path';

/** What the defaults of other settings are made from. */
export type Known = { mode: 'local' | 'production'; host: string; port: number; dataDir: string };

export type Groups = {
  database: { kind: 'sqlite'; path: string } | { kind: 'postgres'; url: string };
  upstream:
    | { kind: 'none' }
    | { kind: 'inbox' }
    | { kind: 'http'; url: string; secret: Buffer | undefined };
  mail:
    | { kind: 'none' }
    | { kind: 'files'; folder: string; from: string }
    | { kind: 'smtp'; url: string; from: string };
  operator: { name: string; contact: string | undefined };
  contractor: { id: string; name: string } | undefined;
};

type Given = string | undefined;

/** Takes DATABASE_URL; its default is a file in the data folder. */
export function databaseOf(url: Given, { dataDir }: Known): Groups['database'] {
  if (url === undefined) return { kind: 'sqlite', path: join(dataDir, 'service.db') };
  if (!url.startsWith('sqlite:')) return { kind: 'postgres', url };
  const path = url.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, '');
  return { kind: 'sqlite', path: path === ':memory:' || isAbsolute(path) ? path : resolve(path) };
}

/** Takes UPSTREAM_URL and UPSTREAM_SECRET; local mode has the embedded inbox, production nothing. */
export function upstreamOf(
  url: Given,
  secret: Buffer | undefined,
  { mode }: Known,
): Groups['upstream'] {
  if (url === undefined) return { kind: mode === 'local' ? 'inbox' : 'none' };
  return url === 'inbox:' ? { kind: 'inbox' } : { kind: 'http', url, secret };
}

/** Takes SMTP_URL and MAIL_FROM; local mode writes files, production sends nothing. */
export function mailOf(url: Given, from: Given, { mode, dataDir }: Known): Groups['mail'] {
  if (url !== undefined && from !== undefined) return { kind: 'smtp', url, from };
  if (mode === 'production') return { kind: 'none' };
  const folder = join(dataDir, 'mail');
  return { kind: 'files', folder, from: from ?? 'service@localhost.invalid' };
}

/** Takes CONTRACTOR_ID and CONTRACTOR_NAME; local mode has a sample. */
export function contractorOf(id: Given, name: Given, { mode }: Known): Groups['contractor'] {
  if (mode === 'local') {
    return { id: id ?? 'sample-contractor', name: name ?? 'Sample Painting Company' };
  }
  return id !== undefined && name !== undefined ? { id, name } : undefined;
}
