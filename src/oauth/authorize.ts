/**
 * The page on which a person connects a host, and its buttons (reference §26.4). The request is in the query of the
 * page's address, and each button checks it again. So the page needs no cookie and no stored state.
 */
import { type Credentials, digestOfToken } from '../credentials/file.ts';
import type { ConnectRefusal } from '../failures/refusals.ts';
import type { Rate } from '../limits/limits.ts';
import type { Log } from '../platform/log.ts';
import type { NewId } from '../platform/random.ts';
import { type AuthorizationRequest, examine, type RequestParts, returnTo } from './authorization-request.ts';
import type { Connections } from './connections.ts';
import { grantedScopes } from './parameters.ts';
import { makeSecret, type RandomSecret } from './secrets.ts';

export type AuthorizeParts = RequestParts & {
  connections: Pick<Connections, 'add'>;
  credentials: Credentials;
  newId: NewId;
  randomSecret: RandomSecret;
  log: Log;
};

/** The buttons of the page. */
export type Button = { do: 'connect'; token: string } | { do: 'cancel' };

export type PressRequest = {
  query: URLSearchParams;
  /** False if the browser says that another site made the request. */
  isFromOurPage: boolean;
  /** True if the request says that it is automated (Web Bot Auth). */
  isSigned: boolean;
  /** Returns the button in the body, or undefined for any other body. */
  readButton(): Promise<Button | undefined>;
  /** Counts a wrong token of the operator. */
  takeFromLimit(): Promise<Rate>;
  /** Takes back one count. */
  giveBack(): Promise<void>;
};

export type Pressed =
  | { kind: 'returned'; location: string }
  /** The token was wrong, and the page is shown again. */
  | { kind: 'again'; request: AuthorizationRequest }
  | ConnectRefusal;

/**
 * Carries out the button that the person used.
 * @throws StorageUnavailable
 */
export async function pressButton(parts: AuthorizeParts, press: PressRequest): Promise<Pressed> {
  if (!press.isFromOurPage) return { kind: 'connectFromElsewhere' };
  if (press.isSigned) return { kind: 'connectByAgent' };
  const request = await examine(parts, press.query);
  if (request.kind !== 'request') return request;

  const button = await press.readButton();
  if (button === undefined) return { kind: 'connectButton' };
  if (button.do === 'cancel') {
    return { kind: 'returned', location: returnTo(parts, request, { fault: 'oauthDenied' }) };
  }
  const { client } = request.asking;
  if (client !== undefined) return await connect(parts, request, { client, credential: null, scopes: request.scopes });

  const holder = await checkToken(parts, press, button.token);
  if (holder.kind !== 'holder') return holder.kind === 'wrongToken' ? { kind: 'again', request } : holder;
  const scopes = grantedScopes(request.scope, holder.scopes);
  if (scopes.length === 0) return { kind: 'returned', location: returnTo(parts, request, { fault: 'oauthScope' }) };
  return await connect(parts, request, { client: holder.name, credential: holder.credential, scopes });
}

/**
 * Returns the client of the operator's token. Every token counts before it is checked, so that many guesses at the same
 * time count too. A right one no longer counts.
 */
async function checkToken({ credentials }: AuthorizeParts, press: PressRequest, token: string) {
  const rate = await press.takeFromLimit();
  if (rate.exceeded) return { kind: 'tokenTooOften', retryAfterSeconds: rate.resetSeconds } as const;
  const credential = digestOfToken(token);
  const client = credentials.find(credential);
  if (client === undefined) return { kind: 'wrongToken' } as const;
  await press.giveBack();
  return { kind: 'holder', credential, ...client } as const;
}

type Holder = { client: string; credential: string | null; scopes: readonly string[] };

/** Stores the connection and returns the person to the host with a code. */
async function connect(
  parts: AuthorizeParts,
  request: AuthorizationRequest,
  { client, credential, scopes }: Holder,
): Promise<Pressed> {
  const { asking, redirectUri, challenge } = request;
  const code = makeSecret(parts.randomSecret);
  await parts.connections.add({
    id: parts.newId(),
    client,
    client_id: asking.id,
    host: asking.host,
    redirect_uri: redirectUri,
    scope: scopes.join(' '),
    credential,
    code_digest: code.digest,
    challenge,
  });
  parts.log.info({ client }, 'host allowed to connect');
  return { kind: 'returned', location: returnTo(parts, request, { code: code.secret }) };
}
