import { expect, test } from 'vitest';
import { call } from '../support/agent.ts';
import { startProcess } from '../support/process.ts';

test('while nobody signs in, only the paths of the console are loaded; a local start off a terminal makes no link', async () => {
  const preload = [import.meta.resolve('../support/packages-loaded.ts')];
  const service = await startProcess({ preload });
  await call(service, '/', { method: 'GET', headers: { accept: 'text/html' } });
  await call(service, '/operator/leads', { method: 'PUT' });
  expect(service.stdout()).toContain('/src/console/routes.ts');
  const loaded = service.stdout().match(/\/src\/console\/[\w-]+\.ts/g);
  expect(new Set(loaded)).toEqual(new Set(['/src/console/routes.ts']));
  expect(service.stdout()).not.toContain('sign-in');
  await service.end();
});
