import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { digestOfToken } from '../../src/credentials/file.ts';
import type { Log } from '../../src/platform/log.ts';

/** Returns a client as in the credentials file, with one credential for each token. */
export function clientOf(
  name: string,
  tokens: string[],
  scopes = ['lead:preview', 'lead:create'],
  expires_at: string | null = null,
) {
  const created_at = '2026-09-01T00:00:00.000Z';
  const credentials = tokens.map((token, index) => ({
    id: `c_${index + 1}`,
    sha256: digestOfToken(token),
    created_at,
    expires_at,
  }));
  return { name, scopes, credentials };
}

/** Writes a credentials file in its own folder, and returns its path. */
export function writeCredentials(...clients: unknown[]): string {
  const path = join(mkdtempSync(join(tmpdir(), 'credentials-')), 'agents.json');
  writeFileSync(path, JSON.stringify({ clients }));
  return path;
}

/** Returns a log that stores its lines as text. */
export function keepingLog(): { log: Log; lines: string[] } {
  const lines: string[] = [];
  const keep = (...words: unknown[]) => {
    lines.push(words.map((word) => (typeof word === 'string' ? word : JSON.stringify(word))).join(' '));
  };
  return { lines, log: { info: keep, warn: keep, error: keep, fatal: keep } };
}
