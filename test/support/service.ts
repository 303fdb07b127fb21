import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildApp } from '../../src/app.ts';
import { openParts, type Parts } from '../../src/compose.ts';
import { type Clock, systemClock } from '../../src/platform/clock.ts';
import { openLog } from '../../src/platform/log.ts';
import { readSettings, type Settings } from '../../src/settings/settings.ts';
import { freePort } from './free-port.ts';

/** Tokens of the test clients, by their scopes. */
export const tokens = {
  both: 'test-token-both',
  rotated: 'test-token-both-rotated',
  preview: 'test-token-preview',
  create: 'test-token-create',
  other: 'test-token-other-client',
  expired: 'test-token-expired',
  /** The token of a sandbox client (reference §27). */
  sandbox: 'test-token-sandbox',
} as const;

const key = Buffer.alloc(32, 'key').toString('base64');

export type Service = {
  url: string;
  folder: string;
  settings: Settings;
  parts: Parts;
  /** All log lines since the start. */
  logs: string[];
  close(): Promise<void>;
};

export type ServiceOptions = {
  environment?: Record<string, string>;
  clock?: Clock;
  folder?: string;
  /** Parts that replace those of the service. */
  parts?: Partial<Parts>;
};

/** Starts the service on a real port in this process, so that a test can replace its clock. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'service-'));
  const port = await freePort();
  const credentialsFile = join(folder, 'agents.json');
  writeFileSync(credentialsFile, JSON.stringify(credentials));
  const read = readSettings({
    NODE_ENV: 'production',
    PORT: String(port),
    BASE_URL: `http://127.0.0.1:${port}`,
    DATA_DIR: folder,
    UPSTREAM_URL: 'inbox:',
    CONTRACTOR_ID: 'c-1',
    CONTRACTOR_NAME: 'Vetted Painters',
    OPERATOR_NAME: 'Paint Match',
    PREVIEW_SIGNING_KEYS: key,
    AGENT_CREDENTIALS_FILE: credentialsFile,
    SMTP_URL: 'smtp://127.0.0.1:1',
    MAIL_FROM: 'hello@paint.example',
    TRUST_PROXY: '127.0.0.1',
    ...options.environment,
  });
  if (read.kind === 'invalid') throw new Error(read.faults.join('\n'));
  const { settings } = read;
  const logs: string[] = [];
  const log = openLog(settings.logLevel, (line) => logs.push(line));
  const opened = await openParts(settings, settings, options.clock ?? systemClock, log);
  const parts = { ...opened, ...options.parts };
  const app = await buildApp(settings, parts);
  await app.listen({ host: '127.0.0.1', port });
  return {
    url: settings.baseUrl,
    folder,
    settings,
    parts,
    logs,
    close: async () => {
      await app.close();
      await parts.close();
      if (options.folder === undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}

const digest = (token: string) => createHash('sha256').update(token).digest('hex');
const credential = (id: string, token: string, expiresAt: string | null = null) => ({
  id,
  sha256: digest(token),
  created_at: '2026-09-01T00:00:00.000Z',
  expires_at: expiresAt,
});

/** Credentials file with the clients of `tokens`. */
export const credentials = {
  clients: [
    {
      name: 'acme',
      scopes: ['lead:preview', 'lead:create'],
      credentials: [
        credential('c_1', tokens.both),
        credential('c_2', tokens.rotated),
        credential('c_3', tokens.expired, '2026-01-01T00:00:00.000Z'),
      ],
    },
    { name: 'looker', scopes: ['lead:preview'], credentials: [credential('c_1', tokens.preview)] },
    { name: 'sender', scopes: ['lead:create'], credentials: [credential('c_1', tokens.create)] },
    {
      name: 'other',
      scopes: ['lead:preview', 'lead:create'],
      credentials: [credential('c_1', tokens.other)],
    },
    {
      name: 'tester',
      sandbox: true,
      scopes: ['lead:preview', 'lead:create'],
      credentials: [credential('c_1', tokens.sandbox)],
    },
  ],
};

/** Returns the log lines of errors. */
export function errorsIn(logs: readonly string[]): string[] {
  return logs.filter((line) => ['error', 'fatal'].includes(JSON.parse(line).level));
}

let addresses = 0;

/** Returns an unused client address for `X-Forwarded-For`. The tests connect from a trusted proxy address. */
export function freshAddress(): string {
  addresses += 1;
  return `10.${(addresses >> 16) & 255}.${(addresses >> 8) & 255}.${addresses & 255}`;
}
