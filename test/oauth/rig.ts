/** Hosts that connect with OAuth, written by hand from the specifications, for the tests of `src/oauth`. */
import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll } from 'vitest';
import type { OauthConnectionRow } from '../../src/storage/oauth-schema.ts';
import { type Answer, call } from '../support/agent.ts';
import { type TestClock, testClock } from '../support/clock.ts';
import { send } from '../support/mcp.ts';
import { type Service, type ServiceOptions, startService, tokens } from '../support/service.ts';

/** Headers that a browser sends with a form of our own page. */
export const OUR_PAGE = { 'sec-fetch-site': 'same-origin' };

/** Redirect address of a program on the person's computer. Nothing listens there. */
export const RETURN = 'http://127.0.0.1:9/callback';

export const VERIFIER = 'v'.repeat(43);
const challenge = createHash('sha256').update(VERIFIER).digest('base64url');

type Url = Pick<Service, 'url'>;
type Changes = Record<string, string | undefined>;

/** Starts the service with OAuth on. Local mode allows http. */
export function startWithOauth({ environment, ...options }: ServiceOptions = {}): Promise<Service> {
  return startService({ ...options, environment: { NODE_ENV: 'test', ...environment } });
}

/** Starts the service with OAuth on for a test file. */
export function oauthService(environment: Record<string, string> = {}): { service: Service; clock: TestClock } {
  const started = {} as { service: Service; clock: TestClock };
  beforeAll(async () => {
    started.clock = testClock();
    started.service = await startWithOauth({ clock: started.clock, environment });
  });
  afterAll(() => started.service.close());
  return started;
}

function without(values: Changes): [string, string][] {
  return Object.entries(values).filter((each): each is [string, string] => each[1] !== undefined);
}

/** Returns the query of a valid authorization request of the client `acme`, with changes. */
export function queryOf({ url }: Url, changes: Changes = {}): string {
  const parameters = {
    response_type: 'code',
    client_id: 'acme',
    redirect_uri: RETURN,
    state: 'any state',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    resource: `${url}/connect`,
    ...changes,
  };
  return `?${new URLSearchParams(without(parameters))}`;
}

/** Opens the page. */
export function openPage(
  service: Url,
  query = queryOf(service),
  headers: Record<string, string> = {},
): Promise<Answer> {
  return call(service, `/oauth/authorize${query}`, { method: 'GET', headers: { accept: 'text/html', ...headers } });
}

/** Clicks a button of the page. */
export function press(
  service: Url,
  form: Record<string, string> = { do: 'connect' },
  { query = queryOf(service), headers = {} }: { query?: string; headers?: Record<string, string> } = {},
): Promise<Answer> {
  return call(service, `/oauth/authorize${query}`, {
    headers: { accept: 'text/html', ...OUR_PAGE, ...headers },
    body: new URLSearchParams(form),
  });
}

/** Returns the parameters with which the person returns to the host. */
export function returned({ headers }: Answer): Record<string, string> {
  return Object.fromEntries(new URL(headers.get('location') ?? 'none:').searchParams);
}

/** Connects the client `acme`, or the client of a changed query, and returns the code. */
export async function codeFor(service: Url, changes: Changes = {}): Promise<string> {
  return returned(await press(service, { do: 'connect' }, { query: queryOf(service, changes) })).code ?? '';
}

/** Posts a form to `/oauth/token`, or to another path. */
export function post(
  service: Url,
  parameters: Changes | URLSearchParams,
  { path = '/oauth/token', headers = {} }: { path?: string; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const body = parameters instanceof URLSearchParams ? parameters : new URLSearchParams(without(parameters));
  return call(service, path, { headers, body });
}

export const ACME = { client_id: 'acme', client_secret: tokens.both };

/** Exchanges a code of `acme`. */
export function useCode(service: Url, code: string, changes: Changes = {}): Promise<Answer> {
  const grant = { grant_type: 'authorization_code', code, redirect_uri: RETURN, code_verifier: VERIFIER };
  return post(service, { ...grant, ...ACME, ...changes });
}

/** Uses a refresh token of `acme`. */
export function refresh(service: Url, refreshToken: string, changes: Changes = {}): Promise<Answer> {
  return post(service, { grant_type: 'refresh_token', refresh_token: refreshToken, ...ACME, ...changes });
}

export type Tokens = { access_token: string; refresh_token: string; scope: string; expires_in: number };

/** Connects the client `acme` and returns its tokens. */
export async function connect(service: Url, changes: Changes = {}): Promise<Tokens> {
  return (await useCode(service, await codeFor(service, changes))).body;
}

/** Calls `tools/list` of `/connect`, or another method, with an access token. */
export function callConnect(
  service: Url,
  token: string | null,
  method = 'tools/list',
  parameters = {},
): Promise<Answer> {
  return send(service, method, parameters, { path: '/connect', token });
}

/** Returns the status of a request for the tools with this access token. */
export async function statusWith(service: Url, token: string): Promise<number> {
  return (await callConnect(service, token)).status;
}

/** Returns the row of a connection that is in use. */
export function connectionRow(own: Partial<OauthConnectionRow> = {}): OauthConnectionRow {
  return {
    id: randomUUID(),
    client: 'acme',
    client_id: 'acme',
    host: 'claude.ai',
    redirect_uri: 'https://claude.ai/callback',
    scope: 'lead:preview lead:create',
    credential: createHash('sha256').update(tokens.both).digest('hex'),
    code_digest: randomUUID(),
    code_expires_at: '2026-09-01T12:01:00.000Z',
    challenge,
    family_digest: randomUUID(),
    refresh_digest: randomUUID(),
    refresh_expires_at: '2126-09-01T12:00:00.000Z',
    connected_at: '2026-09-01T12:00:00.000Z',
    last_used_at: '2026-09-01T12:00:00.000Z',
    ...own,
  };
}

/** Stores connections. */
export async function keepConnections({ parts }: Pick<Service, 'parts'>, ...rows: OauthConnectionRow[]): Promise<void> {
  await parts.storage.write((tx) => tx.insertInto('oauth_connections').values(rows).execute());
}
