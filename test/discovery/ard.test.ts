import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ardManifest } from '../../src/discovery/ard.ts';
import { forms } from '../../src/forms/catalog.ts';
import { call } from '../support/agent.ts';
import { send } from '../support/mcp.ts';
import { type Service, startService } from '../support/service.ts';

let service: Service;
let without: Service;
beforeAll(async () => {
  service = await startService();
  without = await startService({ environment: { MCP: 'off' } });
});
afterAll(async () => {
  await service.close();
  await without.close();
});

const PATH = '/.well-known/ard.json';
const FORMER = '/.well-known/ai-catalog.json';
const get = (path: string, from = service) => call(from, path, { method: 'GET' });

type Entry = Record<string, unknown> & { identifier: string; representativeQueries: string[] };
const entriesOf = async (from: Service): Promise<Entry[]> => (await get(PATH, from)).body.entries;

describe('/.well-known/ard.json (reference §14.12)', () => {
  test('has the card of the tools, the open hand-off and the skill', async () => {
    const { specVersion, host, entries } = (await get(PATH)).body;
    expect([specVersion, host]).toEqual(['1.0', { displayName: 'Paint Match' }]);
    const card = 'application/mcp-server-card+json';
    expect(entries).toMatchObject([
      { identifier: 'urn:air:127.0.0.1:mcp:leads', type: card, url: `${service.url}/mcp/server-card` },
      { identifier: 'urn:air:127.0.0.1:mcp:open', type: card, data: { remotes: [{ url: `${service.url}/mcp/open` }] } },
      {
        identifier: 'urn:air:127.0.0.1:skill:send-a-form',
        type: 'text/markdown; profile="urn:air:agent-skills"',
        url: `${service.url}/.well-known/agent-skills/send-a-form/SKILL.md`,
      },
    ]);
  });

  test('has only the skill with MCP=off', async () => {
    const entries = await entriesOf(without);
    expect(entries.map(({ identifier }) => identifier)).toEqual(['urn:air:127.0.0.1:skill:send-a-form']);
    expect((await get(PATH, without)).text).not.toMatch(/mcp/i);
  });

  // The rules of the schema and of the conformance tests of ARD 0.91.
  test.each([
    ['on', () => service],
    ['off', () => without],
  ])('follows the rules of ARD for each entry with MCP=%s', async (_mcp, of) => {
    for (const entry of await entriesOf(of())) {
      expect(entry.identifier).toMatch(/^urn:air:[a-zA-Z0-9.-]+(:[a-zA-Z0-9._-]+)+$/);
      for (const name of ['displayName', 'type', 'description']) expect(entry[name], name).toMatch(/\S/);
      expect(['url', 'data'].filter((name) => name in entry)).toHaveLength(1);
      const { representativeQueries: queries } = entry;
      expect(queries.length).toBeGreaterThanOrEqual(2);
      expect(queries.length).toBeLessThanOrEqual(5);
      expect(queries).toEqual(Object.values(forms).map(({ purpose }) => purpose));
    }
  });

  test('names at most five queries, however many forms exist', () => {
    const many = [...Object.values(forms), ...Object.values(forms)];
    const facts = { baseUrl: 'https://paint.example', operatorName: 'Fair Coat', mcp: 'on', forms: many } as const;
    for (const { representativeQueries } of ardManifest(facts).entries) expect(representativeQueries).toHaveLength(5);
  });

  test.each([
    ['https://paint.example', 'paint.example'],
    ['http://localhost:3000', 'localhost'],
    ['http://[::1]:3000', '-1-'],
  ])('names the host of %s as the authority %s', (baseUrl, authority) => {
    for (const { identifier } of ardManifest({ baseUrl, operatorName: 'Fair Coat', mcp: 'on' }).entries) {
      expect(identifier.split(':')[2]).toBe(authority);
    }
  });

  test('contains the identity that /mcp/open declares', async () => {
    const [, handOff] = await entriesOf(service);
    const { body } = await send(service, 'server/discover', {}, { path: '/mcp/open' });
    expect(handOff?.data).toMatchObject(body.result._meta['io.modelcontextprotocol/serverInfo']);
  });

  test.each(['GET', 'HEAD'])('is where %s of the former address leads, from any origin', async (method) => {
    const { status, headers, text } = await call(service, FORMER, { method });
    expect([status, headers.get('location'), text]).toEqual([308, PATH, '']);
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect((await fetch(service.url + FORMER)).url).toBe(service.url + PATH);
  });

  test('has no former address with MCP=off', async () => {
    expect((await get(FORMER, without)).status).toBe(404);
  });

  test.each([
    ['on', () => service],
    ['off', () => without],
  ])('is named in robots.txt and in the Link header of the start page with MCP=%s', async (_mcp, of) => {
    expect((await get('/robots.txt', of())).text).toContain(`\nAgentmap: ${of().url}${PATH}\n`);
    expect((await get('/', of())).headers.get('link')).toContain(`<${PATH}>; rel="ard"`);
    expect((await get('/quote', of())).headers.get('link')).not.toContain('rel="ard"');
  });
});
