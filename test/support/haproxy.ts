import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { until } from './until.ts';
import { refusesConnections } from './wire.ts';

/** True if haproxy is installed. With `TEST_SERVICES=required`, as in CI, its absence is an error. */
export const haproxyIsThere = spawnSync('haproxy', ['-v']).status === 0;
if (!haproxyIsThere && process.env.TEST_SERVICES === 'required') {
  throw new Error('haproxy is not there, and TEST_SERVICES=required wants it.');
}

/** Starts haproxy in front of one instance. All clients share its connections, and it refuses `/api/leads`. */
export async function startHaproxy(instance: number): Promise<{ url: string; close(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'haproxy-'));
  const port = await freePort();
  const file = join(folder, 'haproxy.cfg');
  writeFileSync(
    file,
    `defaults
  mode http
  timeout connect 1s
  timeout client 2s
  timeout server 5s
frontend clients
  bind 127.0.0.1:${port}
  http-request deny deny_status 403 if { path /api/leads }
  http-request set-header X-Forwarded-For %[src]
  default_backend instances
backend instances
  http-reuse always
  server one 127.0.0.1:${instance}
`,
  );
  const child = spawn('haproxy', ['-db', '-q', '-f', file], { stdio: 'ignore' });
  const url = `http://127.0.0.1:${port}`;
  await until(async () => !(await refusesConnections(url)));
  return {
    url,
    close: () =>
      new Promise((settle) => {
        child.once('close', () => {
          rmSync(folder, { recursive: true, force: true });
          settle();
        });
        child.kill('SIGTERM');
      }),
  };
}
