/**
 * The documents that other programs read, as one deployment publishes them. A changed name or sentence shows in the
 * difference of a commit. After a change, run `npm test -- test/discovery/published.test.ts -u` and read the
 * difference.
 */
import { expect, test } from 'vitest';
import { startDiscovery } from './discovery-server.ts';

/** Returns JSON that differs in few lines after a change: what fits in a line stays in one line. */
function lines(value: unknown, indent = ''): string {
  const text = JSON.stringify(value);
  if (indent.length + text.length <= 110 || typeof value !== 'object' || value === null) return text;
  const more = `${indent}  `;
  const members = Array.isArray(value)
    ? value.map((each) => lines(each, more))
    : Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${lines(each, more)}`);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return `${open}\n${members.map((member) => more + member).join(',\n')}\n${indent}${close}`;
}

test.each([
  ['/api/agent/manifest', 'manifest.json'],
  ['/openapi.json', 'openapi.json'],
  ['/reference.md', 'reference.md'],
  ['/llms.txt', 'llms.txt'],
  ['/api/agent/content', 'content.json'],
  ['/api/agent/content?resource=quote', 'content-quote.json'],
  ['/schemas/lead.created.json', 'lead.created.json'],
  ['/schemas/subscriber.created.json', 'subscriber.created.json'],
  ['/schemas/subscriber.confirmed.json', 'subscriber.confirmed.json'],
  ['/schemas/subscriber.unsubscribed.json', 'subscriber.unsubscribed.json'],
  ['/.well-known/api-catalog', 'api-catalog.json'],
  ['/.well-known/ard.json', 'ard.json'],
  ['/.well-known/agent-skills/index.json', 'skills.json'],
  ['/.well-known/agent-skills/send-a-form/SKILL.md', 'skill.md'],
  ['/mcp/server-card', 'server-card.json'],
])('%s answers with the recorded document', async (path, file) => {
  const server = await startDiscovery();
  const text = await (await server.get(path)).text();
  await server.close();
  const readable = file.endsWith('.json') ? `${lines(JSON.parse(text))}\n` : text;
  await expect(readable).toMatchFileSnapshot(`published/${file}`);
});
