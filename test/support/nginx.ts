import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { listens } from './listens.ts';
import { freePort } from './service.ts';

const deploy = resolve(import.meta.dirname, '../../deploy');

/** Whether nginx is on this machine; `TEST_SERVICES=required` (as in CI) makes its absence a failure. */
export const nginxIsThere = spawnSync('nginx', ['-v']).status === 0;
if (!nginxIsThere && process.env.TEST_SERVICES === 'required') {
  throw new Error('nginx is not there, and TEST_SERVICES=required wants it.');
}

export type Nginx = { url: string; port: number; close(): Promise<void> };

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
