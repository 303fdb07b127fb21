/** Runs the service as in production, in its own data folder. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Sample } from './servers/http.ts';
import { sha256 } from './servers/minimum.ts';
import { CLIENT, OPERATOR, SIGNING_KEY, TOKEN, UPSTREAM_SECRET } from './settings.ts';

export const SERVICE = [new URL('../bin/service.js', import.meta.url).pathname, 'start'];

/** The bundle that `npm run build` makes. */
export const BUNDLE = [new URL('../dist/service.js', import.meta.url).pathname, 'start'];

/** Returns the environment of the service and of the bare servers. */
export function environmentOf(dataDir: string, upstreamUrl: string, logLevel: string): Record<string, string> {
  return {
    NODE_ENV: 'production',
    BASE_URL: 'https://bench.example',
    DATA_DIR: dataDir,
    UPSTREAM_URL: upstreamUrl,
    UPSTREAM_SECRET: `whsec_${UPSTREAM_SECRET.toString('base64')}`,
    CONTRACTOR_ID: 'c-1',
    CONTRACTOR_NAME: 'Vetted Painters',
    OPERATOR_NAME: OPERATOR,
    PREVIEW_SIGNING_KEYS: SIGNING_KEY.toString('base64'),
    AGENT_CREDENTIALS_FILE: join(dataDir, 'agents.json'),
    // Each request names its own client address. Otherwise the rate limits of the service would end the load.
    TRUST_PROXY: '127.0.0.1',
    LOG_LEVEL: logLevel,
  };
}

/** Creates a data folder whose credentials file has one client. Returns its path and a function that removes it. */
export function makeDataFolder(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'service-bench-'));
  const credential = {
    id: 'c_1',
    sha256: sha256(`${TOKEN}`),
    created_at: '2026-09-01T00:00:00.000Z',
    expires_at: null,
  };
  const client = {
    name: CLIENT,
    scopes: ['lead:preview', 'lead:create'],
    credentials: [credential],
  };
  writeFileSync(join(path, 'agents.json'), JSON.stringify({ clients: [client] }));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** Headers that a bare server does not copy: they differ in each answer, or Node.js writes them. */
const OWN = ['date', 'connection', 'keep-alive', 'content-length', 'x-request-id'];

/** Returns the parts of the service's answer that a bare server copies. */
export function sampleOf(head: string, body: Buffer): Sample {
  const headers: Record<string, string> = {};
  for (const line of head.split('\r\n').slice(1)) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    if (!OWN.includes(name)) headers[name] = line.slice(colon + 1).trim();
  }
  return { headers, body: body.toString('base64') };
}
