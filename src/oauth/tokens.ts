/** Issues and ends tokens (reference §26.6, §26.8). A refusal changes nothing, unless a code or token is used twice or too late. */
import type { Credentials } from '../credentials/file.ts';
import type { OauthRefusal } from '../failures/refusals.ts';
import type { Log } from '../platform/log.ts';
import type { OauthConnectionRow } from '../storage/oauth-schema.ts';
import { findHolder } from './access.ts';
import { type AuthenticatedClient, authenticate } from './client-authentication.ts';
import { ACCESS_LIFETIME_MS, type Connections } from './connections.ts';
import { grantedScopes, isOurResource, type Parameters } from './parameters.ts';
import { digestOfSecret, isVerified, makeFamily, makeSecret, type RandomSecret, refreshParts } from './secrets.ts';

export type TokenParts = {
  connections: Connections;
  credentials: Credentials;
  hosts: readonly string[];
  baseUrl: string;
  randomSecret: RandomSecret;
  log: Log;
};

export type TokenRequest = {
  parameters: Parameters;
  /** All lines of the `Authorization` header. */
  authorization: readonly string[];
  /** Called if the credential is of a sandbox client (reference §27.2). */
  onSandbox?(): void;
};

/** The body of a success (RFC 6749 §5.1). */
type TokenBody = {
  access_token: string;
  token_type: 'Bearer';
  expires_in: number;
  refresh_token: string;
  scope: string;
};

export type TokenAnswer = { kind: 'issued'; body: TokenBody } | OauthRefusal;

const WRONG_GRANT = { kind: 'oauthGrant' } as const;

/**
 * Answers a request for tokens.
 * @throws StorageUnavailable
 */
export async function requestTokens(parts: TokenParts, request: TokenRequest): Promise<TokenAnswer> {
  const { parameters } = request;
  const client = admit(parts, request);
  if (client.kind !== 'client') return client;
  switch (parameters.get('grant_type')) {
    case undefined:
      return { kind: 'oauthRequest' };
    case 'authorization_code':
      return await useCode(parts, client, parameters);
    case 'refresh_token':
      return await refresh(parts, client, parameters);
    default:
      return { kind: 'oauthGrantType' };
  }
}

/** Checks repeated parameters, the client, then `resource`. */
function admit(parts: TokenParts, { parameters, authorization, onSandbox }: TokenRequest) {
  if (parameters.hasRepeated) return { kind: 'oauthRequest' } as const;
  const client = authenticate(parts, parameters, authorization);
  if (client.kind !== 'client') return client;
  if (client.sandbox) onSandbox?.();
  const resource = parameters.get('resource');
  const isOurs = resource === undefined || isOurResource(resource, parts.baseUrl);
  return isOurs ? client : ({ kind: 'oauthTarget' } as const);
}

async function useCode(parts: TokenParts, client: AuthenticatedClient, { get }: Parameters): Promise<TokenAnswer> {
  const [code, redirectUri, verifier] = [get('code'), get('redirect_uri'), get('code_verifier')];
  if (code === undefined || redirectUri === undefined || verifier === undefined) return { kind: 'oauthRequest' };
  const digest = digestOfSecret(code);
  const connection = digest && (await parts.connections.findByCode(digest));
  if (!connection || connection.client_id !== client.id) return WRONG_GRANT;
  if (connection.family_digest !== null) return await endUsed(parts, connection);
  if (redirectUri !== connection.redirect_uri || !isVerified(verifier, connection.challenge)) return WRONG_GRANT;
  const family = makeFamily(parts.randomSecret);
  return await issue(parts, client, connection, undefined, (issued, secret) => ({
    refreshToken: family.secret + secret,
    isIssued: parts.connections.useCode(connection, family.digest, issued),
  }));
}

async function refresh(parts: TokenParts, client: AuthenticatedClient, { get }: Parameters): Promise<TokenAnswer> {
  const sent = get('refresh_token');
  if (sent === undefined) return { kind: 'oauthRequest' };
  const token = refreshParts(sent);
  const connection = token && (await parts.connections.findByFamily(token.family.digest));
  if (!token || !connection || connection.client_id !== client.id) return WRONG_GRANT;
  if (connection.refresh_digest !== token.secret.digest) return await endUsed(parts, connection);
  const wanted = get('scope');
  const granted = connection.scope.split(' ');
  if (wanted?.split(' ').some((scope) => !granted.includes(scope))) return { kind: 'oauthScope' };
  return await issue(parts, client, connection, wanted, (issued, secret) => ({
    refreshToken: token.family.secret + secret,
    isIssued: parts.connections.rotate(connection, token.secret.digest, issued),
  }));
}

/** Makes the tokens and stores their digests with `store`, which returns the whole refresh token. */
async function issue(
  parts: TokenParts,
  client: AuthenticatedClient,
  connection: OauthConnectionRow,
  wanted: string | undefined,
  store: (
    issued: { access: string; refresh: string; credential: string; scope: string },
    secret: string,
  ) => { refreshToken: string; isIssued: Promise<boolean> },
): Promise<TokenAnswer> {
  const credential = client.secret ?? connection.credential ?? '';
  const holder = await findHolder(parts.credentials, credential, connection.client);
  if (holder === undefined) {
    await parts.connections.end(connection.id);
    return WRONG_GRANT;
  }
  const scope = grantedScopes(wanted ?? connection.scope, holder.scopes).join(' ');
  if (scope === '') return { kind: 'oauthScope' };
  const [access, secret] = [makeSecret(parts.randomSecret), makeSecret(parts.randomSecret)];
  const issued = { access: access.digest, refresh: secret.digest, credential, scope };
  const { refreshToken, isIssued } = store(issued, secret.secret);
  if (!(await isIssued)) return logEnd(parts, connection);
  const body = {
    access_token: access.secret,
    token_type: 'Bearer' as const,
    expires_in: ACCESS_LIFETIME_MS / 1_000,
    refresh_token: refreshToken,
    scope,
  };
  return { kind: 'issued', body };
}

async function endUsed(parts: TokenParts, connection: OauthConnectionRow): Promise<TokenAnswer> {
  await parts.connections.end(connection.id);
  return logEnd(parts, connection);
}

function logEnd({ log }: TokenParts, { client }: OauthConnectionRow): TokenAnswer {
  log.warn({ client }, 'connection ended because a code or refresh token was used twice or too late');
  return WRONG_GRANT;
}

/**
 * Ends a token of the client (RFC 7009). A refresh token ends its connection. An unknown token, or one of another
 * client, changes nothing and gets the same answer. Returns undefined on success.
 * @throws StorageUnavailable
 */
export async function revokeToken(parts: TokenParts, request: TokenRequest): Promise<OauthRefusal | undefined> {
  const { parameters } = request;
  const client = admit(parts, request);
  if (client.kind !== 'client') return client;
  const token = parameters.get('token');
  if (token === undefined) return { kind: 'oauthRequest' };
  const { connections } = parts;
  const family = refreshParts(token)?.family;
  if (family !== undefined) {
    const connection = await connections.findByFamily(family.digest);
    if (connection?.client_id === client.id) await connections.end(connection.id);
    return undefined;
  }
  const digest = digestOfSecret(token);
  const found = digest && (await connections.findByAccessToken(digest));
  if (found && found.client_id === client.id) await connections.endAccessToken(digest);
  return undefined;
}
