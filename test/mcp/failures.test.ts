/** Errors of the protocol, and tools that fail inside the service (reference §8.1, §8.9). */
import { describe, expect, test } from 'vitest';
import { StorageUnavailable } from '../../src/storage/database.ts';
import { call } from '../support/agent.ts';
import { ACCEPTED, answering, callTool, previewByTool, send, WITH_APPS } from '../support/mcp.ts';
import { scenario } from '../support/scenario.ts';
import { tokens } from '../support/service.ts';

const started = scenario();
const answerTo = async (message: object, headers: Record<string, string | null> = {}) => {
  const { status, body } = await send(started.service, 'tools/list', {}, { raw: JSON.stringify(message), headers });
  return { status, body };
};

describe('a tool that fails', () => {
  test.each<[string, Error, string, string]>([
    ['an unavailable store', new StorageUnavailable('away'), 'the store is unavailable', 'can’t reach its database'],
    ['a defect', new Error('a defect'), 'unexpected error in a tool', 'Something went wrong'],
  ])('returns a result for the model because of %s, and logs the error', async (_name, error, logged, said) => {
    const { receipts } = started.service.parts;
    const { find } = receipts;
    receipts.find = () => Promise.reject(error);
    const before = started.service.logs.length;
    const result = await callTool(started.service, 'get_receipt', { action_id: 'x' });
    receipts.find = find;
    expect([result.isError, result.content[0].text]).toEqual([true, expect.stringContaining(said)]);
    expect(result).not.toHaveProperty('structuredContent');
    const lines = started.service.logs.slice(before).map((line) => JSON.parse(line));
    expect(lines.filter(({ level }) => level === 'error')).toEqual([
      expect.objectContaining({ msg: logged, err: expect.objectContaining({ message: error.message }) }),
    ]);
  });
});

describe('an error of the protocol', () => {
  test('says where the tools and resources are listed', async () => {
    const tool = await callTool(started.service, 'other', {});
    expect([tool.code, tool.message]).toEqual([-32_602, expect.stringContaining('no such tool; tools/list has them')]);
    const { body } = await send(started.service, 'resources/read', { uri: 'ui://other' }, WITH_APPS);
    expect(body.error.message).toContain('no such resource; resources/list has them');
  });

  test('says that a state is not for this call', async () => {
    const input = { preview_id: await previewByTool(started.service) };
    const { code, message } = await callTool(started.service, 'submit', input, answering('forged', ACCEPTED));
    expect([code, message]).toEqual([-32_602, expect.stringContaining('requestState is not for this call')]);
  });

  test('answers subscriptions/listen at once, with the id of the message', async () => {
    for (const id of [7, 'seven']) {
      const message = { jsonrpc: '2.0', id, method: 'subscriptions/listen', params: {} };
      expect(await answerTo(message, { 'mcp-method': 'subscriptions/listen' })).toEqual({
        status: 404,
        body: { jsonrpc: '2.0', id, error: { code: -32_601, message: 'Method not found' } },
      });
    }
  });

  test('refuses a batch with a sentence, and with no id', async () => {
    expect(await answerTo([])).toEqual({
      status: 400,
      body: {
        jsonrpc: '2.0',
        id: null,
        error: { code: -32_600, message: 'Send one message in a request: batches are not supported.' },
      },
    });
  });

  test('has no session id, although the message declares MCP Apps', async () => {
    const params = { protocolVersion: '2025-11-25', ...WITH_APPS, clientInfo: { name: 'host', version: '1' } };
    const headers = { authorization: `Bearer ${tokens.both}`, 'content-type': 'application/json' };
    const initialize = (jsonrpc: string) =>
      call(started.service, '/mcp', {
        headers,
        body: JSON.stringify({ jsonrpc, id: 1, method: 'initialize', params }),
      });
    const [valid, invalid] = [await initialize('2.0'), await initialize('1.0')];
    expect([valid.status, valid.headers.has('mcp-session-id')]).toEqual([200, true]);
    expect([invalid.status, invalid.headers.has('mcp-session-id')]).toEqual([400, false]);
  });
});
