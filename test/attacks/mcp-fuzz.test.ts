/** Messages that no client would send (reference §8.2) cause no 5xx, no crash and no delivery. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MCP_REVISIONS } from '../../src/discovery/deployment.ts';
import { APPS, confirmed, previewByTool, send, WITH_APPS } from '../support/mcp.ts';
import { scenario } from '../support/scenario.ts';

const started = scenario();

const REVISIONS = [...MCP_REVISIONS, '2099-01-01', '', 'x'];
const METHODS = [
  ...['tools/call', 'tools/list', 'server/discover', 'initialize', 'ping', 'resources/read'],
  ...['x', '__proto__'],
];
const TOOLS = [
  ...['submit', 'get_receipt', 'preview_contact', 'submit_from_card', 'prepare_form'],
  ...['constructor', '__proto__', ''],
];

const anyForm = fc.constantFrom('contact', 'homeowner_quote', '__proto__');

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
          arguments: fc.oneof(
            fc.jsonValue(),
            fc.record({ preview_id: fc.jsonValue(), form: anyForm, fields: fc.jsonValue() }),
          ),
          requestState: fc.oneof(fc.string(), fc.jsonValue()),
          inputResponses: fc.jsonValue(),
          protocolVersion: fc.constantFrom(...REVISIONS),
          _meta: fc.oneof(
            fc.jsonValue(),
            fc.record({
              'io.modelcontextprotocol/protocolVersion': fc.constantFrom(...REVISIONS),
              'io.modelcontextprotocol/clientCapabilities': fc.oneof(
                fc.constantFrom({ elicitation: {} }, WITH_APPS.capabilities),
                fc.record({ extensions: fc.record({ [APPS]: fc.jsonValue() }) }),
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
  for (const path of ['/mcp', '/mcp/open']) {
    const { status } = await send(started.service, 'tools/call', {}, { raw, headers, path });
    expect(status, raw.slice(0, 300)).toBeLessThan(500);
  }
}

describe('POST /mcp and /mcp/open with arbitrary messages', () => {
  test('answers below 500, and delivers and stores nothing', async () => {
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
    ['a batch of 10,000', `[${Array(10_000).fill('{"jsonrpc":"2.0","id":1,"method":"ping"}').join()}]`],
    ['100,000 members', `{${Array.from({ length: 30_000 }, (_, n) => `"m${n}":1`).join()}}`],
    ['an id of 400 KB', JSON.stringify({ jsonrpc: '2.0', id: 'x'.repeat(400_000), method: 'ping' })],
    ['a number beyond the range', '{"jsonrpc":"2.0","id":1e999,"method":"ping"}'],
  ])('answers below 500 to %s', async (_name, raw) => {
    await started.expecting({}, async () => {
      for (const revision of ['2026-07-28', '2025-11-25', null]) {
        await survives(raw, { 'mcp-protocol-version': revision, 'mcp-method': null });
      }
    });
  });

  test('executes a valid submission after the arbitrary messages', async () => {
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
