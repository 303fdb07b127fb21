/**
 * The documents that other programs read, as one deployment publishes them. A changed name or sentence shows in the
 * difference of a commit. The reference shows what `openapi.json` contains. After a change, run
 * `npm test -- test/discovery/published.test.ts -u` and read the difference.
 */
import { expect, test } from 'vitest';
import { startDiscovery } from './discovery-server.ts';

test.each([
  ['/api/agent/manifest', 'manifest.json'],
  ['/api/agent/content', 'content.json'],
  ['/api/agent/content?resource=quote', 'content-quote.json'],
  ['/.well-known/api-catalog', 'api-catalog.json'],
  ['/.well-known/ard.json', 'ard.json'],
  ['/.well-known/agent-skills/index.json', 'skills.json'],
  ['/.well-known/agent-skills/send-a-form/SKILL.md', 'skill.md'],
  ['/mcp/server-card', 'server-card.json'],
  ['/llms.txt', 'llms.txt'],
  ['/reference.md', 'reference.md'],
])('%s answers with the recorded document', async (path, file) => {
  const server = await startDiscovery();
  const text = await (await server.get(path)).text();
  await server.close();
  const readable = file.endsWith('.json') ? `${JSON.stringify(JSON.parse(text), null, 2)}\n` : text;
  await expect(readable).toMatchFileSnapshot(`published/${file}`);
});
