/** Checks the parameters of an authorization request (reference §26.4). GET and POST of the page both check them. */
import { SCOPES } from '../credentials/clients.ts';
import type { Credentials } from '../credentials/file.ts';
import { oauthProblems } from '../failures/oauth-problems.ts';
import type { OauthRefusal, UnknownConnection } from '../failures/refusals.ts';
import { issuerPath } from '../routes.ts';
import { hostOf, isDocumentAddress, isListed, isReturnAddress, withParameters } from './addresses.ts';
import type { ReadDocument } from './client-document.ts';
import { grantedScopes, isOurResource, type Parameters, parametersIn } from './parameters.ts';
import { CHALLENGE } from './secrets.ts';

export type RequestParts = {
  credentials: Credentials;
  readDocument: ReadDocument;
  hosts: readonly string[];
  baseUrl: string;
};

/** The program that asks for a connection, as people see it. */
type Asking = {
  /** The `client_id`. */
  id: string;
  /** Name of the client in the credentials file. Undefined if the token on the page decides. */
  client: string | undefined;
  host: string;
  /** The name that a metadata document gives. */
  name: string | undefined;
};

export type AuthorizationRequest = {
  kind: 'request';
  asking: Asking;
  redirectUri: string;
  state: string | undefined;
  challenge: string;
  /** The parameter `scope`. */
  scope: string | undefined;
  /** Scopes that the request can get: those of the client, or all if the token on the page decides. */
  scopes: readonly string[];
};

/** The person returns to the host at once, with an error. */
type Returned = { kind: 'returned'; location: string };

export type Examined = AuthorizationRequest | Returned | UnknownConnection;

/** Returns the request, or the reason for which no page is shown. Only a checked address gets an answer. */
export async function examine(parts: RequestParts, query: URLSearchParams): Promise<Examined> {
  const parameters = parametersIn(query);
  const { get } = parameters;
  const [id, redirectUri] = [get('client_id'), get('redirect_uri')];
  if (id === undefined) return { kind: 'unknownHost' };
  if (redirectUri === undefined || !isReturnAddress(redirectUri, parts.hosts)) return { kind: 'unknownReturn' };

  const asking = await askingOf(parts, id, redirectUri);
  if ('kind' in asking) return asking;

  const scopes = grantedScopes(get('scope'), scopesOf(parts.credentials, asking.client));
  const state = get('state');
  const fault = faultOf(parameters, parts.baseUrl) ?? (scopes.length === 0 ? 'oauthScope' : undefined);
  if (fault !== undefined) return { kind: 'returned', location: returnTo(parts, { redirectUri, state }, { fault }) };
  return {
    kind: 'request',
    asking,
    redirectUri,
    state,
    challenge: get('code_challenge') ?? '',
    scope: get('scope'),
    scopes,
  };
}

/** Returns the address of the host with a code, or with an error and its reason (RFC 9207). */
export function returnTo(
  { baseUrl }: Pick<RequestParts, 'baseUrl'>,
  { redirectUri, state }: Pick<AuthorizationRequest, 'redirectUri' | 'state'>,
  answer: { code: string } | { fault: OauthRefusal['kind'] },
): string {
  const iss = baseUrl + issuerPath;
  if ('code' in answer) return withParameters(redirectUri, { code: answer.code, state, iss });
  const { errorCode: error, sentence } = oauthProblems[answer.fault];
  return withParameters(redirectUri, { error, error_description: sentence, state, iss });
}

/** A name in the credentials file comes first. A metadata document is read only for an address that may be used. */
async function askingOf(
  { credentials, readDocument, hosts }: RequestParts,
  id: string,
  redirectUri: string,
): Promise<Asking | UnknownConnection> {
  if (isNamed(credentials, id)) return { id, client: id, host: hostOf(redirectUri), name: undefined };
  const document = isDocumentAddress(id, hosts) ? await readDocument(id) : undefined;
  if (document === undefined) return { kind: 'unknownHost' };
  if (!isListed(redirectUri, document.redirectUris)) return { kind: 'unknownReturn' };
  return { id, client: undefined, host: hostOf(id), name: document.name };
}

/** Returns true for a client of the credentials file. */
export function isNamed(credentials: Credentials, id: string): boolean {
  return credentials.clients().some(({ name }) => name === id);
}

function scopesOf(credentials: Credentials, client: string | undefined): readonly string[] {
  return client === undefined ? SCOPES : (credentials.clients().find(({ name }) => name === client)?.scopes ?? []);
}

function faultOf({ get, hasRepeated }: Parameters, baseUrl: string): OauthRefusal['kind'] | undefined {
  const mode = get('response_mode') ?? 'query';
  const isPlain = get('code_challenge_method') !== 'S256' || !CHALLENGE.test(get('code_challenge') ?? '');
  if (hasRepeated || get('response_type') === undefined || mode !== 'query') return 'oauthRequest';
  if (get('response_type') !== 'code') return 'oauthResponseType';
  if (isPlain) return 'oauthRequest';
  return isOurResource(get('resource') ?? '', baseUrl) ? undefined : 'oauthTarget';
}
