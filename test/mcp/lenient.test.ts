/** Messages of common clients that strict servers refuse (reference §8.6): `null`, numbers, older revisions. */
import { describe, expect, test } from 'vitest';
import { quote } from '../support/agent.ts';
import { callTool, confirmed, previewByTool, send, toolNames } from '../support/mcp.ts';
import { scenario } from '../support/scenario.ts';

const started = scenario();

const textOf = (result: { content: { text: string }[] }) => result.content[0]?.text ?? '';

describe('arguments of a preview tool', () => {
  test.each<[string, object, object]>([
    ['treats null in an optional field as absent', { phone: null, message: null }, {}],
    ['treats null under an unknown name as absent', { budget: null }, {}],
    ['treats an integer as its digits', { postal_code: 94_110 }, { postal_code: '94110' }],
    ['treats a telephone number as its digits', { phone: 15_550_100_199 }, { phone: '15550100199' }],
    ['treats a fraction as its digits', { message: 2.5 }, { message: '2.5' }],
    ['treats 0 as its digit', { message: 0 }, { message: '0' }],
  ])('%s', async (_name, changes, fields) => {
    const input = { ...quote, ...changes };
    const { structuredContent } = await callTool(started.service, 'preview_homeowner_quote', input);
    expect(structuredContent?.fields).toEqual({ ...quote, ...fields });
  });

  test.each<[string, string]>([
    ['an integer that a double cannot hold', '12345678901234567890'],
    ['an exponent', '1e30'],
    ['a number beyond the range of numbers', '1e400'],
    ['true', 'true'],
    ['an object', '{"a":1}'],
  ])('refuses %s as the value of a text field, and suggests leaving out optional fields', async (_name, value) => {
    const body = JSON.stringify({ ...quote, phone: 'PHONE' }).replace('"PHONE"', value);
    const raw = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"preview_homeowner_quote","arguments":${body}}}`;
    const headers = { 'mcp-protocol-version': '2025-06-18', 'mcp-method': null, 'mcp-name': null };
    const { text } = await send(started.service, 'tools/call', {}, { raw, headers });
    expect(text).toContain('phone must be a string.');
    expect(text).toContain('leave out');
  });

  test('reports a required field with null as missing', async () => {
    const input = { ...quote, email: null };
    const result = await callTool(started.service, 'preview_homeowner_quote', input);
    expect(textOf(result)).toContain('email is missing.');
  });
});

describe('arguments of the other tools', () => {
  test('treats null in `via` of request_confirmation as absent', async () => {
    const preview_id = await previewByTool(started.service);
    const input = { preview_id, via: null };
    const { structuredContent } = await callTool(started.service, 'request_confirmation', input);
    expect(structuredContent?.confirmation).toMatchObject({ status: 'pending', via: 'page' });
  });

  test('treats null in `confirmation` of submit as absent, and sends nothing', async () => {
    const input = { ...confirmed(await previewByTool(started.service)), confirmation: null };
    await started.expecting({}, async () => {
      expect(textOf(await callTool(started.service, 'submit', input))).toContain('not confirmed');
    });
  });

  test.each(['submit', 'request_confirmation', 'get_receipt'])(
    'treats null in every argument of %s as absent',
    async (name) => {
      const none = { preview_id: null, action_id: null, confirmation: null, via: null };
      const [withNull, without] = [
        await callTool(started.service, name, none),
        await callTool(started.service, name, {}),
      ];
      expect(textOf(withNull)).toBe(textOf(without));
    },
  );
});

describe('null in place of an object', () => {
  const OLD = { 'mcp-protocol-version': '2025-06-18', 'mcp-method': null, 'mcp-name': null };
  const resultOf = ({ text }: { text: string }) => JSON.parse(text.replace(/^event: message\ndata: /, '')).result;
  const raw = (message: object) => JSON.stringify({ jsonrpc: '2.0', id: 1, ...message });

  test('lists the tools if `params` of tools/list is null', async () => {
    const message = raw({ method: 'tools/list', params: null });
    const answer = await send(started.service, 'x', {}, { raw: message, headers: OLD });
    expect(resultOf(answer).tools).toHaveLength(toolNames.length);
  });

  test('returns an error of the tool if `arguments` of a call is null', async () => {
    for (const revision of ['2026-07-28', '2025-06-18']) {
      const parameters = { name: 'get_receipt', arguments: null };
      const headers = { 'mcp-protocol-version': revision };
      const answer =
        revision === '2026-07-28'
          ? await send(started.service, 'tools/call', parameters, { headers })
          : await send(
              started.service,
              'tools/call',
              {},
              {
                raw: raw({ method: 'tools/call', params: parameters }),
                headers: OLD,
              },
            );
      expect(resultOf(answer).isError).toBe(true);
    }
  });
});

describe('client of an older revision', () => {
  test.each(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'])(
    'gets the revision %s that it requested, and answers without a session',
    async (revision) => {
      const ask = (method: string, params?: object, version: string | null = revision) =>
        send(
          started.service,
          method,
          {},
          {
            headers: {
              'mcp-protocol-version': version,
              'mcp-method': null,
              'mcp-name': null,
            },
            raw: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }),
          },
        );
      const result = ({ text }: { text: string }) => JSON.parse(text.replace(/^event: message\ndata: /, '')).result;

      // Clients send a revision in the header only after the answer to this call.
      const hello = { capabilities: {}, clientInfo: { name: 'test', version: '1' } };
      for (const version of [null, revision]) {
        const begun = await ask('initialize', { ...hello, protocolVersion: revision }, version);
        expect(result(begun)).toMatchObject({
          protocolVersion: revision,
          capabilities: { tools: {} },
        });
        expect(begun.headers.has('mcp-session-id')).toBe(false);
      }
      // Clients of 2024-11-05 and 2025-03-26 send no header.
      for (const version of [null, revision]) {
        expect(result(await ask('tools/list', undefined, version)).tools).toHaveLength(toolNames.length);
        const call = { name: 'preview_homeowner_quote', arguments: quote };
        const called = await ask('tools/call', call, version);
        expect(result(called).structuredContent.fields).toEqual(quote);
      }
    },
  );
});
