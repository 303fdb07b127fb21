/** SIGUSR1, at which Node.js opens its debugger by default (reference §20.6 rule 9). */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { type ServiceProcess, startProcess } from '../support/process.ts';

const project = resolve(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(resolve(project, path), 'utf8');

async function expectUsualEnd(service: ServiceProcess): Promise<void> {
  service.kill('SIGTERM');
  expect(await service.exited).toEqual({ status: 0, signal: null });
  expect(service.stderr()).toBe('');
}

test('the service keeps running and opens no debugger after SIGUSR1', async () => {
  const service = await startProcess();
  service.kill('SIGUSR1');
  for (let request = 0; request < 20; request += 1) {
    expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
  }
  await expectUsualEnd(service);
});

const execStart = /^ExecStart=(.+)$/m.exec(read('deploy/one-box/lead-intake.service'))?.[1] ?? '';

test.each([
  ['npm start', JSON.parse(read('package.json')).scripts.start],
  ['the unit of systemd', `exec ${execStart.replaceAll('/opt/lead-intake', project)}`],
])('%s opens no debugger if SIGUSR1 arrives before the service runs its first line', async (_name, command) => {
  // NODE_OPTIONS drops other quotation marks.
  const early = 'data:text/javascript,process.kill(process.pid,`SIGUSR1`)';
  const PATH = `${project}/node_modules/.bin:${process.env.PATH}`;
  const environment = { NODE_OPTIONS: `--import=${early}`, PATH };
  await expectUsualEnd(await startProcess({ shell: `cd ${project}; ${command}`, environment }));
});

test('the container image starts Node.js with --disable-sigusr1', () => {
  expect(/^ENTRYPOINT (.+)$/m.exec(read('deploy/Dockerfile'))?.[1]).toContain('"--disable-sigusr1"');
});
