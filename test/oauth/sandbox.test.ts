/** A sandbox client connects a host with OAuth (reference §27.7). */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { quote } from '../support/agent.ts';
import { callTool, confirmed } from '../support/mcp.ts';
import { newKey } from '../support/receipts.ts';
import { type Service, tokens } from '../support/service.ts';
import { type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';
import { type DocumentServer, lookupHere, startDocumentServer, trustCertificate } from './document-server.ts';
import {
  callConnect,
  codeFor,
  openPage,
  post,
  press,
  queryOf,
  refresh,
  returned,
  startWithOauth,
  useCode,
} from './rig.ts';

let host: DocumentServer;
let upstream: ProgrammableUpstream;
let service: Service;
beforeAll(async () => {
  trustCertificate();
  host = await startDocumentServer();
  upstream = await startUpstream();
  service = await startWithOauth({
    environment: { UPSTREAM_URL: upstream.url, OAUTH_HOSTS: 'localhost', RECEIPT_SIGNING_KEYS: newKey() },
    parts: { publicLookup: lookupHere },
  });
});
afterAll(async () => {
  await service.close();
  await upstream.close();
  host.close();
});

const TESTER = { client_id: 'tester', client_secret: tokens.sandbox };

/** Connects the sandbox client as a named client, and returns its tokens. */
async function connectByName() {
  const code = await codeFor(service, { client_id: 'tester' });
  return { client: TESTER, tokens: (await useCode(service, code, TESTER)).body };
}

/** Connects a host with a metadata document. The token on the page is the token of the sandbox client. */
async function connectByToken() {
  const client = { client_id: host.address, client_secret: undefined };
  const query = queryOf(service, { client_id: host.address });
  const { code = '' } = returned(await press(service, { do: 'connect', token: tokens.sandbox }, { query }));
  return { client, tokens: (await useCode(service, code, client)).body };
}

const tool = (token: string, name: string, input: object) =>
  callTool(service, name, input, { path: '/connect', token });
const countRows = async () =>
  (await service.parts.storage.read((db) => db.selectFrom('submissions').select('id'))).length;

test.each([
  ['named client', connectByName],
  ['host with a metadata document', connectByToken],
])('a %s connects with a sandbox token, marks every answer, and sends nothing', async (_kind, connect) => {
  const { client, tokens: first } = await connect();
  expect(first.scope).toBe('lead:preview lead:create');
  const renewed = (await refresh(service, first.refresh_token, client)).body;
  for (const { access_token } of [first, renewed]) {
    const { status, headers } = await callConnect(service, access_token);
    expect([status, headers.get('sandbox')]).toEqual([200, 'true']);
  }
  const token = renewed.access_token;
  const previewed = await tool(token, 'preview_homeowner_quote', quote);
  const sent = await tool(token, 'submit', confirmed(previewed.structuredContent.preview_id));
  expect(sent.structuredContent.receipt.status).toBe('submitted');
  const { action_id } = sent.structuredContent.receipt;
  const signed = (await tool(token, 'get_receipt', { action_id })).structuredContent.signed_receipt;
  expect(JSON.parse(Buffer.from(signed.split('.')[1], 'base64url').toString())).toMatchObject({
    sandbox: true,
    client: 'tester',
  });
  const rejected = await tool(token, 'preview_homeowner_quote', { ...quote, email: 'ada+rejected@example.com' });
  const refused = await tool(token, 'submit', confirmed(rejected.structuredContent.preview_id));
  expect([refused.isError, refused.content[0].text]).toEqual([true, expect.stringContaining('rejected')]);
  expect([upstream.delivered.length, await countRows()]).toEqual([0, 0]);
});

test('a connection of a sandbox client refuses a preview of a real client', async () => {
  const { access_token } = (await connectByName()).tokens;
  const real = await callTool(service, 'preview_homeowner_quote', quote);
  const refused = await tool(access_token, 'submit', confirmed(real.structuredContent.preview_id));
  expect([refused.isError, refused.content[0].text]).toEqual([
    true,
    expect.stringContaining('preview_id is not valid'),
  ]);
  expect(upstream.delivered).toEqual([]);
});

test('a named client gets the header Sandbox with its tokens and refusals, and a person gets none on the page', async () => {
  const query = queryOf(service, { client_id: 'tester' });
  const page = await openPage(service, query);
  const pressed = await press(service, { do: 'connect' }, { query });
  expect([page.status, pressed.status]).toEqual([200, 303]);
  const issued = await useCode(service, returned(pressed).code ?? '', TESTER);
  const refused = await refresh(service, 'unknown', TESTER);
  const wrong = await refresh(service, 'unknown', { ...TESTER, client_secret: 'wrong' });
  const ended = await post(service, { token: issued.body.refresh_token, ...TESTER }, { path: '/oauth/revoke' });
  expect([issued, refused, wrong, ended].map(({ status }) => status)).toEqual([200, 400, 401, 200]);
  const marks = [page, pressed, issued, refused, wrong, ended].map(({ headers }) => headers.get('sandbox'));
  expect(marks).toEqual([null, null, 'true', 'true', null, 'true']);
  expect((await callConnect(service, issued.body.access_token)).headers.get('sandbox')).toBeNull();
});
