/** Clients of others connect a host, from discovery to a receipt over `/connect`. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  Client,
  type OAuthClientInformationMixed,
  type OAuthClientProvider,
  type OAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { quote } from '../support/agent.ts';
import { confirmed, send, toolNames } from '../support/mcp.ts';
import { freshAddress, type Service, tokens } from '../support/service.ts';
import { answering, type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';
import { type DocumentServer, lookupHere, startDocumentServer, trustCertificate } from './document-server.ts';
import { OUR_PAGE, startWithOauth } from './rig.ts';

let upstream: ProgrammableUpstream;
let service: Service;
let host: DocumentServer;
let callback: Server;
/** Redirect address of the program, on which a real server listens. */
let redirectUri: string;
/** The address with which the browser came back last. */
let cameBack: URL;

beforeAll(async () => {
  trustCertificate();
  host = await startDocumentServer();
  upstream = await startUpstream();
  upstream.answer = answering(200);
  service = await startWithOauth({
    environment: { UPSTREAM_URL: upstream.url, OAUTH_HOSTS: 'localhost' },
    parts: { publicLookup: lookupHere },
  });
  callback = createServer((request, response) => {
    cameBack = new URL(request.url ?? '', redirectUri);
    response.end('You can close this window.');
  });
  await new Promise<void>((resolve) => callback.listen(0, '127.0.0.1', resolve));
  redirectUri = `http://127.0.0.1:${(callback.address() as AddressInfo).port}/callback`;
});
afterAll(async () => {
  callback.close();
  await service.close();
  await upstream.close();
  host.close();
});

/** Opens the page, sends its form as a browser does, and follows the redirect to the program. */
async function connectInBrowser(address: URL | string, token?: string): Promise<URL> {
  const headers = { accept: 'text/html', 'x-forwarded-for': freshAddress() };
  const page = await fetch(address, { headers });
  const html = await page.text();
  expect([page.status, html.includes('type="password"')]).toEqual([200, token !== undefined]);
  const action = /<form method="post" action="([^"]+)"/.exec(html)?.[1]?.replaceAll('&amp;', '&') ?? '';
  const body = new URLSearchParams({ ...(token !== undefined && { token }), do: 'connect' });
  const sent = await fetch(new URL(action, address), { method: 'POST', headers: { ...headers, ...OUR_PAGE }, body });
  expect(await sent.text()).toBe('You can close this window.');
  return cameBack;
}

/** Previews and submits over `/connect` with an access token, and expects one delivery and a receipt. */
async function sendWith(accessToken: string): Promise<void> {
  const tool = async (name: string, input: object) =>
    (await send(service, 'tools/call', { name, arguments: input }, { path: '/connect', token: accessToken })).body
      .result;
  const before = upstream.delivered.length;
  const { structuredContent } = await tool('preview_homeowner_quote', quote);
  const sent = await tool('submit', confirmed(structuredContent.preview_id));
  expect(sent.structuredContent.receipt.status).toBe('submitted');
  expect(upstream.delivered.length).toBe(before + 1);
}

const named = () => ({ client_id: 'acme', client_secret: tokens.both });
const clients: [
  kind: string,
  client: () => { client_id: string; client_secret?: string },
  token: string | undefined,
][] = [
  ['named client', named, undefined],
  ['metadata client', () => ({ client_id: host.address }), tokens.both],
];

describe('@modelcontextprotocol/client with its OAuth provider', () => {
  /** Stores everything in memory, as a host does. */
  function providerOf(information: OAuthClientInformationMixed | undefined, documentAddress?: string) {
    let saved: OAuthTokens | undefined;
    let verifier = '';
    let opened: URL | undefined;
    const provider: OAuthClientProvider = {
      redirectUrl: redirectUri,
      clientMetadata: { redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' },
      ...(documentAddress !== undefined && { clientMetadataUrl: documentAddress }),
      clientInformation: () => information,
      saveClientInformation: (given) => {
        information = given;
      },
      tokens: () => saved,
      saveTokens: (given) => {
        saved = given;
      },
      redirectToAuthorization: (address) => {
        opened = address;
      },
      saveCodeVerifier: (given) => {
        verifier = given;
      },
      codeVerifier: () => verifier,
    };
    return {
      provider,
      opened: () => opened,
      tokens: () => saved,
      forget: () => {
        if (saved !== undefined) saved.access_token = 'expired';
      },
    };
  }

  const transportOf = (authProvider: OAuthClientProvider) =>
    new StreamableHTTPClientTransport(new URL(`${service.url}/connect`), {
      authProvider,
      requestInit: { headers: { 'x-forwarded-for': freshAddress() } },
    });
  const newClient = () => new Client({ name: 'host', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });

  test.each(clients)('connects as %s, sends once, and refreshes its tokens', async (kind, client, token) => {
    const isNamed = kind === 'named client';
    const { provider, opened, forget, ...kept } = providerOf(
      isNamed ? { ...client(), redirect_uris: [redirectUri] } : undefined,
      isNamed ? undefined : client().client_id,
    );
    const first = transportOf(provider);
    await expect(newClient().connect(first)).rejects.toThrow(UnauthorizedError);
    const back = await connectInBrowser(opened() ?? '', token);
    await first.finishAuth(back.searchParams);

    const before = upstream.delivered.length;
    const mcp = newClient();
    await mcp.connect(transportOf(provider));
    const preview = await mcp.callTool({ name: 'preview_homeowner_quote', arguments: quote });
    const { preview_id } = preview.structuredContent as { preview_id: string };
    // The access token expires. The client refreshes it and repeats the call.
    const refreshToken = kept.tokens()?.refresh_token;
    forget();
    const sent = await mcp.callTool({ name: 'submit', arguments: confirmed(preview_id) });
    expect(sent.structuredContent).toMatchObject({ receipt: { status: 'submitted' } });
    expect(kept.tokens()?.refresh_token).not.toBe(refreshToken);
    expect(upstream.delivered.length).toBe(before + 1);
    await mcp.close();
  });

  test('goes on with a fixed token at /mcp while OAuth is on', async () => {
    const mcp = newClient();
    const headers = { authorization: `Bearer ${tokens.both}`, 'x-forwarded-for': freshAddress() };
    await mcp.connect(new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`), { requestInit: { headers } }));
    expect((await mcp.listTools()).tools).toHaveLength(toolNames.length);
    await mcp.close();
  });
});

test.each(clients)('openid-client connects as %s, sends once, refreshes and revokes', async (_kind, client, token) => {
  const { client_id, client_secret } = client();
  const authentication = client_secret === undefined ? openid.None() : openid.ClientSecretBasic(client_secret);
  const config = await openid.discovery(new URL(`${service.url}/oauth`), client_id, undefined, authentication, {
    algorithm: 'oauth2',
    execute: [openid.allowInsecureRequests],
  });
  const verifier = openid.randomPKCECodeVerifier();
  const state = openid.randomState();
  const address = openid.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    code_challenge: await openid.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    resource: `${service.url}/connect`,
    state,
  });
  const back = await connectInBrowser(address, token);
  const checks = { pkceCodeVerifier: verifier, expectedState: state };
  const granted = await openid.authorizationCodeGrant(config, back, checks);
  await sendWith(granted.access_token);
  const renewed = await openid.refreshTokenGrant(config, granted.refresh_token ?? '');
  await sendWith(renewed.access_token);
  await openid.tokenRevocation(config, renewed.refresh_token ?? '');
  await expect(openid.refreshTokenGrant(config, renewed.refresh_token ?? '')).rejects.toMatchObject({
    error: 'invalid_grant',
  });
});

describe('oauth4webapi', () => {
  const insecure = { [oauth.allowInsecureRequests]: true };

  /** Finds the issuer from the 401 of the tools, as RFC 9728 says. */
  async function discover() {
    const resource = new URL(`${service.url}/connect`);
    const refused = await fetch(resource, { method: 'POST' });
    expect(refused.headers.get('www-authenticate')).toContain('/.well-known/oauth-protected-resource/connect');
    const found = await oauth.resourceDiscoveryRequest(resource, insecure);
    const { authorization_servers: [issuer = ''] = [] } = await oauth.processResourceDiscoveryResponse(resource, found);
    const server = new URL(issuer);
    const metadata = await oauth.discoveryRequest(server, { algorithm: 'oauth2', ...insecure });
    return await oauth.processDiscoveryResponse(server, metadata);
  }

  async function authorize(server: oauth.AuthorizationServer, client_id: string, token: string | undefined) {
    const verifier = oauth.generateRandomCodeVerifier();
    const address = new URL(server.authorization_endpoint ?? '');
    address.search = new URLSearchParams({
      client_id,
      redirect_uri: redirectUri,
      response_type: 'code',
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      resource: `${service.url}/connect`,
    }).toString();
    return { verifier, back: await connectInBrowser(address, token) };
  }

  test.each(clients)('connects as %s from the 401 on, and sends once', async (_kind, client, token) => {
    const { client_id, client_secret } = client();
    const server = await discover();
    const { verifier, back } = await authorize(server, client_id, token);
    const parameters = oauth.validateAuthResponse(server, { client_id }, back);
    const authentication = client_secret === undefined ? oauth.None() : oauth.ClientSecretPost(client_secret);
    const answer = await oauth.authorizationCodeGrantRequest(
      ...([server, { client_id }, authentication, parameters, redirectUri, verifier, insecure] as const),
    );
    const granted = await oauth.processAuthorizationCodeResponse(server, { client_id }, answer);
    await sendWith(granted.access_token);
    const renewed = await oauth.refreshTokenGrantRequest(
      ...([server, { client_id }, authentication, granted.refresh_token ?? '', insecure] as const),
    );
    await sendWith((await oauth.processRefreshTokenResponse(server, { client_id }, renewed)).access_token);
  });

  test('refuses an answer that names another issuer', async () => {
    const server = await discover();
    const { back } = await authorize(server, 'acme', undefined);
    const other = { ...server, issuer: 'https://evil.example/oauth' };
    expect(() => oauth.validateAuthResponse(other, { client_id: 'acme' }, back)).toThrow(/iss/);
  });
});
