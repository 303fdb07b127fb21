import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { freePort, reserve } from './free-port.ts';
import { atEndOfFile } from './leftovers.ts';

test('reserve returns false for a port of another process until that process ends', async () => {
  const module = JSON.stringify(import.meta.resolve('./free-port.ts'));
  const script = `import { freePort } from ${module}; console.log(await freePort()); setInterval(() => {}, 1000);`;
  const other = spawn(process.execPath, ['--input-type=module', '--eval', script]);
  atEndOfFile(() => other.kill());
  const [printed] = await once(other.stdout, 'data');
  const port = Number(printed);

  expect(await reserve(port)).toBe(false);
  other.kill();
  await once(other, 'exit');
  expect(await reserve(port)).toBe(true);
});

test('freePort never returns the same port twice', async () => {
  const ports = [await freePort(), await freePort(), await freePort()];
  expect(new Set(ports).size).toBe(3);
  expect(await reserve(Number(ports[0]))).toBe(false);
});
