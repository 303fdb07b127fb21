import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port.ts';
import { listens } from './listens.ts';

const deploy = resolve(import.meta.dirname, '../../deploy');

/** Whether nginx is on this machine; `TEST_SERVICES=required` (as in CI) makes its absence a failure. */
export const nginxIsThere = spawnSync('nginx', ['-v']).status === 0;
if (!nginxIsThere && process.env.TEST_SERVICES === 'required') {
  throw new Error('nginx is not there, and TEST_SERVICES=required wants it.');
}

export type Nginx = {
  url: string;
  port: number;
  /** All that it has written down so far. */
  said(): string;
  close(): Promise<void>;
};

/** nginx with the file of the deployment; only its two includes are the test's own. */
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

/** nginx that keeps whatever may be kept, in front of one instance; each answer says whether it was kept. */
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

/** Runs the `nginx.conf` of a folder until it is closed; the folder goes with it. */
async function run(folder: string, port: number): Promise<Nginx> {
  // Started by root its workers would be another user, who can't look into the folder.
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
