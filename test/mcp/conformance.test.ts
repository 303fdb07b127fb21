/** Runs MCP's conformance suite against the real endpoint. Expected failures are listed with their reasons. */
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freshAddress, type Service, startService, tokens } from '../support/service.ts';
import { runProgram } from './program.ts';

let relay: Server;
let service: Service;

// The suite can't send a credential, so this relay adds one and forwards the rest unchanged.
beforeAll(async () => {
  relay = createServer((incoming, outgoing) => {
    const own = { authorization: `Bearer ${tokens.both}`, 'x-forwarded-for': freshAddress() };
    const { method, url: path } = incoming;
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
  service = await startService({ environment: { BASE_URL: `http://127.0.0.1:${port}` } });
});
afterAll(async () => {
  relay.closeAllConnections();
  relay.close();
  await service.close();
});

test.each([
  ['2026-07-28', 102],
  ['2025-11-25', 35],
])(
  '/mcp passes the conformance suite of revision %s, except the scenarios listed as expected failures',
  async (revision, least) => {
    const { status, stdout } = await runProgram('@modelcontextprotocol/conformance', 'conformance', [
      ...['server', '--url', `${service.url}/mcp`, '--requirements', revision],
      ...['--expected-failures', join(import.meta.dirname, `conformance/${revision}.yml`)],
    ]);
    expect([status, stdout]).toEqual([0, expect.stringMatching(/Total: \d+ passed/)]);
    expect(Number(/Total: (\d+) passed/.exec(stdout)?.[1])).toBeGreaterThanOrEqual(least);
  },
);
