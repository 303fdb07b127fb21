/** A client without scopes can't read anything, not even its earlier receipts (reference §6.6, §7.1). */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lookAt, pending } from '../confirmations/rig.ts';
import { callTool } from '../support/mcp.ts';
import { execute, getReceipt } from '../support/receipts.ts';
import { credentials, type Service, startService, tokens } from '../support/service.ts';

const folder = mkdtempSync(join(tmpdir(), 'readers-'));
let service: Service;
let receiptId: string;
let confirmationId: string;

const startWith = async (scopes: string[]) => {
  const clients = credentials.clients.map((client) => ({ ...client, scopes }));
  const AGENT_CREDENTIALS_FILE = join(folder, `agents-${scopes.length}.json`);
  writeFileSync(AGENT_CREDENTIALS_FILE, JSON.stringify({ clients }));
  return await startService({ folder, environment: { AGENT_CREDENTIALS_FILE } });
};

beforeAll(async () => {
  const before = await startWith(['lead:preview', 'lead:create']);
  receiptId = await execute(before);
  confirmationId = (await pending(before)).id;
  await before.close();
  service = await startWith([]);
});
afterAll(() => service.close());

const CHALLENGE = /^Bearer realm="agent actions", error="insufficient_scope", scope="lead:\w+"$/;

describe('client without scopes', () => {
  test.each([
    ['GET of its receipt', () => getReceipt(service, receiptId)],
    ['GET of an unknown receipt', () => getReceipt(service, 'x')],
    ['GET of its confirmation', () => lookAt(service, confirmationId)],
    ['DELETE of its confirmation', () => lookAt(service, confirmationId, { method: 'DELETE' })],
  ])('gets 403 for %s', async (_name, ask) => {
    const { status, headers, body } = await ask();
    expect([status, Object.keys(body)]).toEqual([403, ['error']]);
    expect(headers.get('www-authenticate')).toMatch(CHALLENGE);
  });

  test('gets a tool error from get_receipt, for a receipt and for a confirmation', async () => {
    for (const action_id of [receiptId, confirmationId, 'x']) {
      const result = await callTool(service, 'get_receipt', { action_id });
      expect(result).toMatchObject({ isError: true });
      expect(result.content[0].text).toContain('lacks the scope');
      expect(result).not.toHaveProperty('structuredContent');
    }
  });
});

test.each(['lead:preview', 'lead:create'])(
  'the scope %s is enough to read receipts and confirmations',
  async (scope) => {
    const reader = await startWith([scope]);
    expect((await getReceipt(reader, receiptId)).status).toBe(200);
    expect((await lookAt(reader, confirmationId)).status).toBe(200);
    const seen = await callTool(reader, 'get_receipt', { action_id: receiptId });
    expect(seen.structuredContent.receipt.action_id).toBe(receiptId);
    expect((await getReceipt(reader, receiptId, tokens.other)).status).toBe(404);
    await reader.close();
  },
);
