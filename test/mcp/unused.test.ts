import { expect, test } from 'vitest';
import { call } from '../support/agent.ts';
import { send } from '../support/mcp.ts';
import { startProcess } from '../support/process.ts';

test('the service loads the MCP library only at the first call of /mcp with a valid credential', async () => {
  const preload = [import.meta.resolve('../support/packages-loaded.ts')];
  const service = await startProcess({ preload });
  await call(service, '/agents', { method: 'GET' });
  await send(service, 'tools/list', {}, { token: null });
  expect(service.stdout()).toContain('/node_modules/fastify/');
  expect(service.stdout()).not.toContain('/@modelcontextprotocol/');
  expect((await send(service, 'tools/list')).status).toBe(200);
  expect(service.stdout()).toContain('/@modelcontextprotocol/server/');
  await service.end();
});
