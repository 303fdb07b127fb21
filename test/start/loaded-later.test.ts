import { expect, test } from 'vitest';
import { startProcess } from '../support/process.ts';

const preload = [import.meta.resolve('../support/packages-loaded.ts')];

test('a start on a database that has its schema listens before the query builder is loaded', async () => {
  const first = await startProcess();
  await first.end();
  const second = await startProcess({ preload, dataDir: first.dataDir });
  const [before, ...after] = second.stdout().split('the service listens');
  expect(after).toHaveLength(1);
  expect(before).toContain('/node_modules/fastify/');
  expect(before).not.toContain('/node_modules/kysely/');
  await second.end();
});
