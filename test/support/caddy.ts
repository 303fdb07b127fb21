import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port.ts';
import { listens } from './listens.ts';

const caddyfile = resolve(import.meta.dirname, '../../deploy/one-box/Caddyfile');

/** True if Caddy is installed. With `TEST_SERVICES=required`, as in CI, its absence is an error. */
export const caddyIsThere = spawnSync('caddy', ['version']).status === 0;
if (!caddyIsThere && process.env.TEST_SERVICES === 'required') {
  throw new Error('caddy is not there, and TEST_SERVICES=required wants it.');
}

export type Caddy = {
  url: string;
  /** Returns the output and log of the proxy so far. */
  said(): string;
  close(): Promise<void>;
};

/** Starts Caddy with the Caddyfile of deploy/one-box, in front of this port. */
export async function startCaddy(servicePort: number): Promise<Caddy> {
  const folder = mkdtempSync(join(tmpdir(), 'caddy-'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = spawn('caddy', ['run', '--config', caddyfile], {
    env: {
      ...process.env,
      SITE: url,
      SERVICE: `127.0.0.1:${servicePort}`,
      CADDY_ADMIN: `127.0.0.1:${await freePort()}`,
      XDG_DATA_HOME: folder,
      XDG_CONFIG_HOME: folder,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr?.on('data', (text) => {
    said += text;
  });
  while (!(await listens(port))) {
    if (child.exitCode !== null) throw new Error(`Caddy ended: ${said}`);
    await sleep(20);
  }
  return {
    url,
    said: () => said,
    close: async () => {
      await end(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function end(child: ChildProcess): Promise<void> {
  return new Promise((settle) => {
    child.once('close', () => settle());
    child.kill('SIGTERM');
  });
}
