import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port.ts';
import { listens } from './listens.ts';

const deploy = resolve(import.meta.dirname, '../../deploy');

/** True if nginx is installed. With `TEST_SERVICES=required`, as in CI, its absence is an error. */
export const nginxIsThere = spawnSync('nginx', ['-v']).status === 0;
if (!nginxIsThere && process.env.TEST_SERVICES === 'required') {
  throw new Error('nginx is not there, and TEST_SERVICES=required wants it.');
}

export type Nginx = {
  url: string;
  port: number;
  /** Returns the output and logs of nginx so far. */
  said(): string;
  close(): Promise<void>;
};

/** Starts nginx with deploy/nginx.conf. Only its two included files come from the test. */
export async function startNginx(instances: readonly number[], inServer = ''): Promise<Nginx> {
  const folder = mkdtempSync(join(tmpdir(), 'nginx-'));
  const port = await freePort();
  copyFileSync(join(deploy, 'nginx.conf'), join(folder, 'nginx.conf'));
  writeFileSync(join(folder, 'nginx-listen.conf'), `listen 127.0.0.1:${port};\n${inServer}`);
  writeFileSync(
    join(folder, 'nginx-instances.conf'),
    instances.map((each) => `server 127.0.0.1:${each} max_fails=1 fail_timeout=5s;\n`).join(''),
  );
  return run(folder, port);
}

/** Starts an nginx that caches every cacheable answer of one instance. The header `X-Kept` shows a cache hit. */
export async function startCachingNginx(instance: number): Promise<Nginx> {
  const folder = mkdtempSync(join(tmpdir(), 'nginx-'));
  const port = await freePort();
  const kept = 'proxy_cache kept; proxy_cache_valid any 1m; add_header X-Kept $upstream_cache_status always;';
  const http = `access_log off; proxy_temp_path proxy; client_body_temp_path body; fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi; scgi_temp_path scgi; proxy_cache_path kept keys_zone=kept:1m;
    server { listen 127.0.0.1:${port}; location / { proxy_pass http://127.0.0.1:${instance}; ${kept} } }`;
  writeFileSync(join(folder, 'nginx.conf'), `pid nginx.pid; error_log stderr error; events {} http { ${http} }`);
  return run(folder, port);
}

/** Runs the `nginx.conf` of a folder. `close` ends nginx and removes the folder. */
async function run(folder: string, port: number): Promise<Nginx> {
  // If root starts nginx, its workers would run as another user, who can't read the folder.
  const globals = `daemon off;${process.getuid?.() === 0 ? ' user root;' : ''}`;
  const argv = ['-p', folder, '-c', join(folder, 'nginx.conf'), '-g', globals];
  const child = spawn('nginx', argv, { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr?.on('data', (text) => {
    said += text;
  });
  while (!(await listens(port))) {
    if (child.exitCode !== null) throw new Error(`nginx ended: ${said}`);
    await sleep(20);
  }
  return {
    url: `http://127.0.0.1:${port}`,
    port,
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
