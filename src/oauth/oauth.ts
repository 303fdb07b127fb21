/** Opens OAuth. The first request that needs OAuth loads this module and everything below it. */
import type { LookupFunction } from 'node:net';
import type { Credentials } from '../credentials/file.ts';
import type { ConnectRefusal } from '../failures/refusals.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import type { NewId } from '../platform/random.ts';
import type { Settings } from '../settings/settings.ts';
import type { Frame } from '../site/layout.ts';
import type { Storage } from '../storage/database.ts';
import { checkAccess } from './access.ts';
import { type AuthorizationRequest, examine } from './authorization-request.ts';
import { type PressRequest, pressButton } from './authorize.ts';
import { openClientDocuments } from './client-document.ts';
import { openConnections } from './connections.ts';
import { authorizePage, refusedPage } from './page.ts';
import { parametersIn } from './parameters.ts';
import type { RandomSecret } from './secrets.ts';
import { requestTokens, revokeToken, type TokenRequest } from './tokens.ts';

export type OauthParts = {
  settings: Pick<Settings, 'baseUrl' | 'operator' | 'oauthHosts'>;
  storage: Storage;
  credentials: Credentials;
  clock: Clock;
  newId: NewId;
  randomSecret: RandomSecret;
  /** DNS lookup for metadata documents, which refuses addresses that are not public. */
  publicLookup: LookupFunction;
  log: Log;
  frame(): Frame;
};

export type Oauth = ReturnType<typeof openOauth>;

/** The part of a request for tokens that is not in its body. */
export type Caller = Omit<TokenRequest, 'parameters'>;

/** Returns the functions behind the routes. They throw `StorageUnavailable`. */
export function openOauth(given: OauthParts) {
  const { settings, clock, publicLookup: lookup } = given;
  const parts = {
    ...given,
    ...settings,
    hosts: settings.oauthHosts,
    connections: openConnections(given),
    readDocument: openClientDocuments({ clock, lookup }),
  };
  return {
    examine: (query: URLSearchParams) => examine(parts, query),
    press: (request: PressRequest) => pressButton(parts, request),
    page: (request: AuthorizationRequest, shown: { query: URLSearchParams; isWrong?: boolean }) =>
      authorizePage(parts, request, shown),
    refusedPage: (refusal: ConnectRefusal) => refusedPage(parts, refusal),
    requestTokens: (sent: URLSearchParams, caller: Caller) =>
      requestTokens(parts, { ...caller, parameters: parametersIn(sent) }),
    revokeToken: (sent: URLSearchParams, caller: Caller) =>
      revokeToken(parts, { ...caller, parameters: parametersIn(sent) }),
    checkAccess: (lines: readonly string[]) => checkAccess(parts, lines),
  };
}
