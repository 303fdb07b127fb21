import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { listens } from './listens.ts';
import { until } from './until.ts';

/** True if pgbouncer is installed. With `TEST_SERVICES=required`, as in CI, its absence is an error. */
export const pgbouncerIsThere = spawnSync('pgbouncer', ['--version']).status === 0;
if (!pgbouncerIsThere && process.env.TEST_SERVICES === 'required') {
  throw new Error('pgbouncer is not there, and TEST_SERVICES=required wants it.');
}

/** Starts pgbouncer in transaction mode in front of a database, with few server connections. */
export async function startPgbouncer(database: string): Promise<{ url: string; close(): Promise<void> }> {
  const url = new URL(database);
  const folder = mkdtempSync(join(tmpdir(), 'pgbouncer-'));
  const port = await freePort();
  const server = [
    `host=${url.hostname} port=${url.port || 5432} user=${url.username || 'postgres'}`,
    ...(url.password === '' ? [] : [`password=${decodeURIComponent(url.password)}`]),
  ].join(' ');
  const path = join(folder, 'pgbouncer.ini');
  writeFileSync(
    path,
    `[databases]
* = ${server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
`,
  );
  // pgbouncer runs as another user than root, and that user must read the file.
  chmodSync(folder, 0o755);
  const argv = process.getuid?.() === 0 ? ['-u', 'nobody', path] : [path];
  const child = spawn('pgbouncer', ['--quiet', ...argv], { stdio: 'ignore' });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  await until(() => listens(port));
  url.port = String(port);
  return {
    url: url.href,
    close: async () => {
      child.kill('SIGINT');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
