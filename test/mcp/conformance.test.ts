/** Runs MCP's conformance suite against the real endpoints with a credential. Expected failures are listed with their reasons. */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connect } from '../oauth/rig.ts';
import { freshAddress, type Service, startService, tokens } from '../support/service.ts';
import { runProgram } from './program.ts';

/** Scenarios that fail at `/mcp/open`, which has no resources, because it has no previews to show as cards. */
const NO_RESOURCES: Readonly<Record<string, string[]>> = {
  '2026-07-28': [
    'resources-list',
    'sep-2164-resource-not-found',
    'caching:sep-2549-resources-list-caching-hints',
    'caching:sep-2549-resources-templates-list-caching-hints',
  ],
  '2025-11-25': ['resources-list'],
};

let relay: Server;
let service: Service;
let accessToken: string;

// The suite can't send a credential, so this relay adds one and forwards the rest unchanged.
beforeAll(async () => {
  relay = createServer((incoming, outgoing) => {
    const { method, url: path } = incoming;
    const token = path === '/connect' ? accessToken : tokens.both;
    const own = { authorization: `Bearer ${token}`, 'x-forwarded-for': freshAddress() };
    const headers = { ...incoming.headers, ...own };
    const onwards = request(`http://127.0.0.1:${service.settings.port}`, { method, path, headers });
    onwards.on('response', (answer) => {
      outgoing.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(onwards);
  });
  await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
  const { port } = relay.address() as AddressInfo;
  service = await startService({ environment: { NODE_ENV: 'test', BASE_URL: `http://127.0.0.1:${port}` } });
  const itself = { url: `http://127.0.0.1:${service.settings.port}` };
  accessToken = (await connect(itself, { resource: `${service.url}/connect` })).access_token;
});
afterAll(async () => {
  relay.closeAllConnections();
  relay.close();
  await service.close();
});

test.each([
  ['/mcp', '2026-07-28', 102],
  ['/mcp', '2025-11-25', 35],
  ['/connect', '2026-07-28', 102],
  ['/connect', '2025-11-25', 35],
  ['/mcp/open', '2026-07-28', 95],
  ['/mcp/open', '2025-11-25', 35],
])(
  '%s passes the conformance suite of revision %s, except the scenarios listed as expected failures',
  async (path, revision, least) => {
    const { status, stdout } = await runProgram('@modelcontextprotocol/conformance', 'conformance', [
      ...['server', '--url', service.url + path, '--requirements', revision],
      ...['--expected-failures', expectedFailures(path, revision)],
    ]);
    expect([status, stdout]).toEqual([0, expect.stringMatching(/Total: \d+ passed/)]);
    expect(Number(/Total: (\d+) passed/.exec(stdout)?.[1])).toBeGreaterThanOrEqual(least);
  },
);

/** Returns the path of the list of expected failures for an address. */
function expectedFailures(path: string, revision: string): string {
  const list = join(import.meta.dirname, `conformance/${revision}.yml`);
  if (path !== '/mcp/open') return list;
  const further = (NO_RESOURCES[revision] ?? []).map((scenario) => `  - ${scenario}\n`);
  const longer = join(mkdtempSync(join(tmpdir(), 'conformance-')), 'expected.yml');
  writeFileSync(longer, `${readFileSync(list, 'utf8').trimEnd()}\n${further.join('')}`);
  return longer;
}
