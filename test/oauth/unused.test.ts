import { expect, test } from 'vitest';
import { call } from '../support/agent.ts';
import { send } from '../support/mcp.ts';
import { startProcess } from '../support/process.ts';

test('the service loads OAuth only at the first request that needs it', async () => {
  const preload = [import.meta.resolve('../support/packages-loaded.ts')];
  const service = await startProcess({ preload });
  await call(service, '/agents', { method: 'GET' });
  await send(service, 'tools/list');
  // A request without a token is refused without it.
  expect((await call(service, '/connect')).status).toBe(401);
  const loaded = () => [...service.stdout().matchAll(/\/src\/oauth\/([\w-]+)\.ts/g)].map(([, name]) => name);
  expect(loaded()).toEqual(['routes']);
  expect((await call(service, '/oauth/token')).status).toBe(400);
  expect((await call(service, '/connect', { headers: { authorization: 'Bearer x' } })).status).toBe(401);
  expect(loaded()).toContain('connections');
  await service.end();
});
