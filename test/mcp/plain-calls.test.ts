/** Most calls are answered without the library: nobody can tell by the answer, and nothing else gets past it. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { quote } from '../support/agent.ts';
import { testClock } from '../support/clock.ts';
import { send } from '../support/mcp.ts';
import { type Service, startService, tokens } from '../support/service.ts';

/** What the client of `send` says of itself. */
const KNOWN = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
};

let fresh: Service;
let used: Service;
const clock = testClock();

beforeAll(async () => {
  fresh = await startService({ clock });
  used = await startService({ clock, environment: { BASE_URL: fresh.url } });
  used.url = `http://127.0.0.1:${used.settings.port}`;
  // From now on this client is known to it.
  await preview(used);
});
afterAll(async () => {
  await fresh.close();
  await used.close();
});

type Options = Parameters<typeof send>[3];

const preview = (service: Service, options: Options = {}, input: object = quote) =>
  send(service, 'tools/call', { name: 'preview_homeowner_quote', arguments: input }, options);

/** Without what differs in every answer. */
const alike = ({ status, text }: { status: number; text: string }) => [
  status,
  text.replaceAll(/eyJ[\w-]+\.[\w-]{43}/g, 'token'),
];

test.each<[string, object, Options]>([
  ['a preview', quote, {}],
  ['faults of fields', { name: 1 }, {}],
  ['no scope', quote, { token: tokens.create }],
])('%s: the answer is the library’s, byte for byte', async (_name, input, options) => {
  // The library’s, for this client said something new of itself.
  const clientInfo = { name: _name, version: '1' };
  const parameters = { _meta: { ...KNOWN, 'io.modelcontextprotocol/clientInfo': clientInfo } };
  const first = await preview(fresh, { ...options, parameters }, input);
  const plain = await preview(used, options, input);
  expect(alike(plain)).toEqual(alike(first));
  expect(plain.headers.get('content-type')).toBe(first.headers.get('content-type'));
});

const message = (changes: object) =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'preview_homeowner_quote', arguments: quote, _meta: KNOWN },
    ...changes,
  });

test.each<[string, Options]>([
  ['another revision in the header', { headers: { 'mcp-protocol-version': '2025-11-25' } }],
  ['no revision in the header', { headers: { 'mcp-protocol-version': null } }],
  ['another method in the header', { headers: { 'mcp-method': 'tools/list' } }],
  ['another tool in the header', { headers: { 'mcp-name': 'submit' } }],
  ['no tool in the header', { headers: { 'mcp-name': null } }],
  ['arguments that are none', { parameters: { arguments: [] } }],
  ['another name', { parameters: { name: 'preview_contact' } }],
  ['capabilities that are none', { capabilities: [] }],
  [
    'a client without capabilities',
    { parameters: { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } } },
  ],
  ['a member more', { raw: message({ extra: 1 }) }],
  ['a parameter more', { parameters: { requestState: 'x' } }],
  ['answers that nobody asked for', { parameters: { inputResponses: { confirmation: {} } } }],
  ['an id that is none', { raw: message({ id: null }) }],
  ['a fraction as its id', { raw: message({ id: 1.5 }) }],
  ['no id', { raw: message({ id: undefined }) }],
  ['another JSON-RPC', { raw: message({ jsonrpc: '1.0' }) }],
])('%s: answered as before the client was known', async (_name, options) => {
  expect(alike(await preview(used, options))).toEqual(alike(await preview(fresh, options)));
});
