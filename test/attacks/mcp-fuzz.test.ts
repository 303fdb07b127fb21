/** Messages that no client would send (beyond §3): no 5xx, no crash, nothing delivered. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { confirmed, previewByTool, send } from '../support/mcp.ts';
import { scenario } from '../support/scenario.ts';

const started = scenario();

const REVISIONS = ['2026-07-28', '2025-11-25', '2025-06-18', '2024-11-05', '2099-01-01', '', 'x'];
const METHODS = [
  'tools/call',
  'tools/list',
  'server/discover',
  'initialize',
  'ping',
  'x',
  '__proto__',
];
const TOOLS = ['submit', 'get_receipt', 'preview_contact', 'constructor', '__proto__', ''];

const deep = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
const anyId = fc.oneof(
  fc.integer(),
  fc.double(),
  fc.string(),
  fc.constant('i'.repeat(100_000)),
  fc.constant(1e308),
  fc.constantFrom(null, true, {}, []),
);

const message = fc.record(
  {
    jsonrpc: fc.constantFrom('2.0', '1.0', 2, null),
    id: anyId,
    method: fc.oneof(fc.constantFrom(...METHODS), fc.string(), fc.jsonValue()),
    params: fc.oneof(
      fc.jsonValue(),
      fc.record(
        {
          name: fc.oneof(fc.constantFrom(...TOOLS), fc.jsonValue()),
          arguments: fc.oneof(fc.jsonValue(), fc.record({ preview_id: fc.jsonValue() })),
          requestState: fc.oneof(fc.string(), fc.jsonValue()),
          inputResponses: fc.jsonValue(),
          protocolVersion: fc.constantFrom(...REVISIONS),
          _meta: fc.oneof(
            fc.jsonValue(),
            fc.record({
              'io.modelcontextprotocol/protocolVersion': fc.constantFrom(...REVISIONS),
              'io.modelcontextprotocol/clientCapabilities': fc.oneof(
                fc.constant({ elicitation: {} }),
                fc.jsonValue(),
              ),
            }),
          ),
        },
        { requiredKeys: [] },
      ),
    ),
    result: fc.jsonValue(),
    error: fc.jsonValue(),
  },
  { requiredKeys: [] },
);

const anyHeaders = fc.record({
  'mcp-protocol-version': fc.constantFrom(...REVISIONS, null),
  'mcp-method': fc.constantFrom(...METHODS, '=?base64?eA==?=', '=?base64?%%?=', null),
  'mcp-name': fc.constantFrom(...TOOLS, '=?base64?!?=', null),
});

async function survives(raw: string, headers: Record<string, string | null> = {}) {
  const { status } = await send(started.service, 'tools/call', {}, { raw, headers });
  expect(status, raw.slice(0, 300)).toBeLessThan(500);
}

describe('whatever is sent', () => {
  test('is answered below 500, and nothing is delivered or kept', async () => {
    await started.expecting({}, async () => {
      const anything = fc.oneof({ weight: 9, arbitrary: message }, fc.jsonValue());
      await fc.assert(
        fc.asyncProperty(anything, anyHeaders, async (value, headers) => {
          await survives(JSON.stringify(value), headers);
        }),
        { numRuns: 300 },
      );
    });
    expect(started.service.logs.filter((line) => line.includes('unexpected error'))).toEqual([]);
  });

  test.each([
    ['an object 20,000 deep', deep(20_000)],
    [
      'arguments 20,000 deep',
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"submit","arguments":${deep(20_000)}}}`,
    ],
    ['an array 50,000 deep', '['.repeat(50_000) + ']'.repeat(50_000)],
    [
      'a batch of 10,000',
      `[${Array(10_000).fill('{"jsonrpc":"2.0","id":1,"method":"ping"}').join()}]`,
    ],
    ['100,000 members', `{${Array.from({ length: 30_000 }, (_, n) => `"m${n}":1`).join()}}`],
    [
      'an id of 400 KB',
      JSON.stringify({ jsonrpc: '2.0', id: 'x'.repeat(400_000), method: 'ping' }),
    ],
    ['a number that is none', '{"jsonrpc":"2.0","id":1e999,"method":"ping"}'],
  ])('%s', async (_name, raw) => {
    await started.expecting({}, async () => {
      for (const revision of ['2026-07-28', '2025-11-25', null]) {
        await survives(raw, { 'mcp-protocol-version': revision, 'mcp-method': null });
      }
    });
  });

  test('the endpoint works as before', async () => {
    const input = confirmed(await previewByTool(started.service));
    await started.expecting({ forwarded: 1, rows: 1 }, async () => {
      const { body } = await send(started.service, 'tools/call', {
        name: 'submit',
        arguments: input,
      });
      expect(body.result.structuredContent.receipt.status).toBe('submitted');
    });
  });
});
