/** Compares the documented headers of the agent operations with the headers of real answers (reference §14.5, §27.2). */
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { askToConfirm, lookAt } from '../confirmations/rig.ts';
import { type Answer, call, executeAction, previewAction, quote } from '../support/agent.ts';
import { getReceipt, newKey } from '../support/receipts.ts';
import { credentials, type Service, startService, tokens } from '../support/service.ts';

// biome-ignore lint/suspicious/noExplicitAny: a document is walked by name, whatever it holds
type Json = any;

const { sandbox: token } = tokens;
const large = 'x'.repeat(512 * 1024 + 1);
const UNKNOWN = '0191ab6f-2d40-7c11-8f37-2a6a4f1f9c11';
const from = (local: string) => ({ ...quote, email: `${local}@example.com` });

/** Statuses that come before the check of the credential, by operation. Such an answer never has the header. */
const BEFORE: Record<string, string[]> = {
  previewAction: ['401', '404', '408', '429', '431'],
  executeAction: ['401', '404', '408', '431'],
  createConfirmation: ['401', '408', '431'],
  getConfirmation: ['400', '401', '408', '429', '431'],
  cancelConfirmation: ['400', '401', '408', '429', '431'],
  getReceipt: ['400', '401', '408', '429', '431'],
};

let service: Service;
let document: Json;
beforeAll(async () => {
  service = await startService({ environment: { RECEIPT_SIGNING_KEYS: newKey() } });
  document = (await call(service, '/openapi.json', { method: 'GET' })).body;
});
afterAll(() => service.close());
beforeEach(() => setScopes(['lead:preview', 'lead:create']));

/** Gives the sandbox client these scopes. */
async function setScopes(scopes: string[]): Promise<void> {
  const clients = credentials.clients.map((client) => (client.name === 'tester' ? { ...client, scopes } : client));
  writeFileSync(service.settings.credentialsFile ?? '', JSON.stringify({ clients }));
  await service.parts.credentials.reload();
}

const previewOf = async (fields: object = quote): Promise<string> =>
  (await previewAction(service, 'homeowner_quote', fields, { token })).body.preview_id;
const execute = async (fields: object = quote, options = {}): Promise<Answer> =>
  executeAction(service, await previewOf(fields), { token, ...options });
const ask = async (options = {}): Promise<Answer> => askToConfirm(service, await previewOf(), { token, ...options });
const idOf = ({ body }: Answer): string => (body.receipt?.action_id ?? body.confirmation.id) as string;

/** Sends a request with one preview twice, so that the second one repeats the first. */
async function twice(send: (preview: string) => Promise<Answer>, fields: object = quote): Promise<Answer> {
  const preview = await previewOf(fields);
  await send(preview);
  return await send(preview);
}

/** Returns the last answer of requests from one client address, which exceed the limit. */
async function tooMany(count: number, send: (headers: Record<string, string>) => Promise<Answer>): Promise<Answer> {
  for (let sent = 0; sent < count; sent += 1) await send({ 'x-forwarded-for': '192.0.2.7' });
  return await send({ 'x-forwarded-for': '192.0.2.7' });
}

const bearer = { authorization: `Bearer ${token}` };
const read = (path: string, method = 'GET', headers: Record<string, string> = {}) =>
  call(service, path, { method, headers: { ...bearer, ...headers } });

/** Requests of a sandbox client, by operation, status and documented status. */
const answers: [operation: string, status: number, documented: string, send: () => Promise<Answer>][] = [
  [
    'previewAction',
    200,
    '200',
    () => previewAction(service, 'contact', { ...from('a'), subject: 'S', message: 'M' }, { token }),
  ],
  ['previewAction', 200, '200', () => previewAction(service, 'homeowner_quote', { ...quote, zip: '1' }, { token })],
  ['previewAction', 400, '400', () => previewAction(service, 'contact', {}, { token })],
  ['previewAction', 401, '401', () => previewAction(service, 'contact', {}, { token: 'wrong' })],
  ['previewAction', 404, '404', () => previewAction(service, 'nothing', {}, { token })],
  ['previewAction', 413, '413', () => previewAction(service, 'contact', {}, { token, raw: large })],
  [
    'previewAction',
    429,
    '429',
    () => tooMany(60, (headers) => previewAction(service, 'contact', {}, { token, headers })),
  ],
  ['executeAction', 200, '200', () => execute()],
  [
    'executeAction',
    200,
    '200',
    () => twice((preview) => executeAction(service, preview, { token, key: preview.slice(-9) })),
  ],
  ['executeAction', 400, '400', () => execute(quote, { key: null })],
  ['executeAction', 401, '401', () => execute(quote, { token: null })],
  ['executeAction', 404, '404', () => execute(quote, { action: 'nothing' })],
  ['executeAction', 409, '409', () => execute(quote, { body: { confirmation: false } })],
  ['executeAction', 413, '413', () => execute(quote, { raw: large })],
  ['executeAction', 422, '4XX', () => execute(from('a+rejected'))],
  ['executeAction', 429, '429', () => execute(from('a+limited'))],
  ['executeAction', 502, '502', () => execute(from('a+unconfirmed'))],
  [
    'executeAction',
    502,
    '502',
    () => twice((preview) => executeAction(service, preview, { token, key: preview.slice(-9) }), from('a+rejected')),
  ],
  ['createConfirmation', 201, '201', () => ask()],
  [
    'createConfirmation',
    200,
    '200',
    () => twice((preview) => askToConfirm(service, preview, { token, key: preview.slice(-9) })),
  ],
  ['createConfirmation', 400, '400', () => ask({ via: 'agent' })],
  ['createConfirmation', 401, '401', () => ask({ token: 'wrong' })],
  ['getConfirmation', 200, '200', async () => lookAt(service, idOf(await ask()), { token })],
  ['getConfirmation', 401, '401', () => lookAt(service, UNKNOWN, { token: 'wrong' })],
  ['getConfirmation', 404, '404', () => lookAt(service, UNKNOWN, { token })],
  ['cancelConfirmation', 200, '200', async () => lookAt(service, idOf(await ask()), { token, method: 'DELETE' })],
  ['cancelConfirmation', 404, '404', () => lookAt(service, UNKNOWN, { token, method: 'DELETE' })],
  ['getReceipt', 200, '200', async () => getReceipt(service, idOf(await execute()), token)],
  ['getReceipt', 401, '401', () => getReceipt(service, UNKNOWN, null)],
  ['getReceipt', 404, '404', () => getReceipt(service, UNKNOWN, token)],
  ['getReceipt', 429, '429', () => tooMany(60, (headers) => read(`/api/agent/receipts/${UNKNOWN}`, 'GET', headers))],
  ['getReceipt', 500, '500', () => withFault(() => getReceipt(service, UNKNOWN, token))],
];

/** Runs a function while the search for a receipt fails. */
async function withFault(run: () => Promise<Answer>): Promise<Answer> {
  const { receipts } = service.parts;
  const { find } = receipts;
  receipts.find = () => Promise.reject(new Error('a defect'));
  try {
    return await run();
  } finally {
    receipts.find = find;
  }
}

const responsesOf = (operation: string): Record<string, Json> =>
  Object.values<Json>(document.paths)
    .flatMap((methods) => Object.values<Json>(methods))
    .find(({ operationId }) => operationId === operation).responses;

/** Expects the headers of the answer that OpenAPI knows to be documented for this operation and status. */
function expectDocumented(operation: string, documented: string, { headers }: Answer): void {
  const names = Object.keys(document.components.headers);
  const sent = names.filter((name) => headers.has(name));
  expect(Object.keys(responsesOf(operation)[documented].headers)).toEqual(expect.arrayContaining(sent));
}

describe('OpenAPI, headers of real answers', () => {
  test.each(answers)(
    '%s with status %i has only documented headers, Sandbox where it is documented',
    async (...row) => {
      const [operation, status, documented, send] = row;
      const answer = await send();
      expect(answer.status).toBe(status);
      expectDocumented(operation, documented, answer);
      expect(answer.headers.get('sandbox')).toBe(BEFORE[operation]?.includes(documented) ? null : 'true');
      if (status === 429 && operation === 'executeAction') expect(answer.headers.get('retry-after')).toBe('30');
    },
  );

  test.each([
    ['previewAction', () => previewAction(service, 'contact', {}, { token }), 'lead:create'],
    ['executeAction', () => executeAction(service, 'x', { token }), 'lead:preview'],
    ['createConfirmation', () => askToConfirm(service, 'x', { token }), 'lead:preview'],
    ['cancelConfirmation', () => lookAt(service, UNKNOWN, { token, method: 'DELETE' }), 'lead:preview'],
  ])('%s with status 403 has the header Sandbox', async (operation, send, scope) => {
    await setScopes([scope]);
    const answer = await send();
    expect([answer.status, answer.headers.get('sandbox')]).toEqual([403, 'true']);
    expectDocumented(operation, '403', answer);
  });
});

describe.each(['/openapi.json', '/agents/openapi.json'])('%s', (path) => {
  test('has the header Sandbox in every answer of an agent operation from the credential check on, and nowhere else', async () => {
    const { body } = await call(service, path, { method: 'GET' });
    const operations = Object.values<Json>(body.paths).flatMap((methods) => Object.values<Json>(methods));
    expect(operations.length).toBeGreaterThan(6);
    for (const { operationId, responses } of operations) {
      const before = BEFORE[operationId.replace(/^(preview|execute)_.*/, '$1Action')];
      for (const [status, { headers = {} }] of Object.entries<Json>(responses)) {
        const isMarked = before !== undefined && !before.includes(status);
        expect('Sandbox' in headers, `${operationId} ${status}`).toBe(isMarked);
      }
    }
  });
});
