import { expect, test } from 'vitest';
import { call } from '../support/agent.ts';
import { startProcess } from '../support/process.ts';

test('requests without a cookie load only the console’s routes, and no sign-in link is printed without a terminal', async () => {
  const preload = [import.meta.resolve('../support/packages-loaded.ts')];
  const service = await startProcess({ preload });
  await call(service, '/', { method: 'GET', headers: { accept: 'text/html' } });
  for (const path of ['/operator', '/operator/leads', '/operator/leads/', '/operator/nowhere']) {
    for (const method of ['GET', 'POST', 'PUT']) {
      expect((await call(service, path, { method })).status, `${method} ${path}`).toBe(303);
    }
  }
  expect(service.stdout()).toContain('/src/console/routes.ts');
  const loaded = service.stdout().match(/\/src\/console\/[\w-]+\.ts/g);
  expect(new Set(loaded)).toEqual(new Set(['/src/console/routes.ts']));
  expect(service.stdout()).not.toContain('sign-in');
  await service.end();
});
