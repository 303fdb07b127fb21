/**
 * Routes of OAuth (reference §26): the metadata, the page on which a person connects a host, and the tokens. A start
 * registers only the paths, and the first request that needs OAuth loads it.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { SCOPES } from '../credentials/clients.ts';
import { oauthProblems } from '../failures/oauth-problems.ts';
import type { ConnectRefusal, OauthRefusal } from '../failures/refusals.ts';
import { renderProblem } from '../failures/render.ts';
import { headerLines } from '../http/request.ts';
import { checkSameOrigin, sentForm } from '../http/same-origin.ts';
import { once } from '../platform/lazy.ts';
import type { Route } from '../route-groups.ts';
import { at, routes } from '../routes.ts';
import { prepareDocument, serveLazily } from '../server/documents.ts';
import { sendProblem } from '../server/page-or-json.ts';
import type { GiveBack, TakeBody, TakeFromLimit } from '../server/rate-limits.ts';
import { StorageUnavailable } from '../storage/database.ts';
import type { Button } from './authorize.ts';
import type { Caller, Oauth, OauthParts } from './oauth.ts';

/**
 * Headers of the page and of its redirects. A host may open the page in a window of its own, and must be able to learn
 * its end. With the usual policy, the browser would cut the window off from the host for good.
 */
const PAGE_HEADERS = {
  'cache-control': 'no-store',
  'x-robots-tag': 'noindex',
  'cross-origin-opener-policy': 'unsafe-none',
};

/** Limit for the bodies of buttons and of requests for tokens, in bytes. */
const FORM_BODY_BYTES = 8_000;

/** Challenge for a client that authenticated with the scheme Basic (RFC 6749 §5.2). */
const BASIC_CHALLENGE = 'Basic realm="tokens", charset="UTF-8"';

export type OpenOauth = () => Promise<Oauth>;

/** Returns a function that loads OAuth once. */
export function oauthOpener(parts: OauthParts): OpenOauth {
  return once(async () => (await import('./oauth.ts')).openOauth(parts));
}

/** Returns the endpoint of the tools for access tokens: the challenge of its 401 (RFC 9728 §5.1), and its check. */
export function connectEndpoint(open: OpenOauth, baseUrl: string) {
  const metadata = baseUrl + routes.resourceMetadata.path;
  return {
    challenge: `Bearer resource_metadata="${metadata}", scope="${SCOPES.join(' ')}"`,
    checkAccess: async (lines: readonly string[]) =>
      lines.length === 0 ? ('missing' as const) : (await open()).checkAccess(lines),
  };
}

type RouteParts = OauthParts & {
  openOauth: OpenOauth;
  takeFromLimit: TakeFromLimit;
  giveBack: GiveBack;
  takeBody: TakeBody;
};

/** Registers every path of OAuth except the endpoint of the tools. */
export function registerOauth(app: FastifyInstance, parts: RouteParts): void {
  registerMetadata(app, parts);
  registerPage(app, parts);
  registerTokens(app, parts);
}

function registerMetadata(app: FastifyInstance, { settings: { baseUrl, operator } }: RouteParts): void {
  const facts = { baseUrl, operatorName: operator.name };
  const add = (route: Route, make: (documents: typeof import('./metadata.ts')) => object) =>
    serveLazily(app, at(route), async () => {
      const document = make(await import('./metadata.ts'));
      const text = () => JSON.stringify(document, null, 2);
      return prepareDocument(text, 'application/json; charset=utf-8', { 'access-control-allow-origin': '*' });
    });
  add(routes.resourceMetadata, (documents) => documents.resourceMetadata(facts));
  add(routes.issuerMetadata, (documents) => documents.issuerMetadata(facts));
}

function registerPage(app: FastifyInstance, parts: RouteParts): void {
  const { baseUrl, oauthHosts } = parts.settings;
  const { origin } = new URL(baseUrl);

  const sendPage = (reply: FastifyReply, status: number, html: string) =>
    reply.code(status).headers(PAGE_HEADERS).type('text/html; charset=utf-8').send(html);

  const refuse = (reply: FastifyReply, oauth: Oauth, refusal: ConnectRefusal) => {
    const { status, html } = oauth.refusedPage(refusal);
    if ('retryAfterSeconds' in refusal) reply.header('retry-after', refusal.retryAfterSeconds);
    return sendPage(reply, status, html);
  };

  const leave = (reply: FastifyReply, location: string) =>
    reply
      .code(303)
      .headers({ ...PAGE_HEADERS, location })
      .send();

  /** Counts the request, and answers with a page if the store is unavailable. */
  const add = (
    route: Route,
    run: (request: FastifyRequest, reply: FastifyReply, oauth: Oauth) => Promise<FastifyReply>,
  ) =>
    app.route({
      ...at(route),
      handler: async (request, reply) => {
        const rate = await parts.takeFromLimit('authorizations', request, reply);
        const oauth = await parts.openOauth();
        if (rate.exceeded) {
          return refuse(reply, oauth, { kind: 'connectTooOften', retryAfterSeconds: rate.resetSeconds });
        }
        try {
          return await run(request, reply, oauth);
        } catch (error) {
          if (!(error instanceof StorageUnavailable)) throw error;
          parts.log.error({ err: error, requestId: request.id }, 'the store is unavailable');
          return refuse(reply, oauth, { kind: 'connectUnknown' });
        }
      },
    });

  add(routes.authorizePage, async (request, reply, oauth) => {
    const query = queryOf(request);
    const examined = await oauth.examine(query);
    if (examined.kind === 'returned') return leave(reply, examined.location);
    if (examined.kind !== 'request') return refuse(reply, oauth, examined);
    allowReturn(reply, examined.redirectUri, oauthHosts);
    return sendPage(reply, 200, oauth.page(examined, { query }));
  });

  add(routes.pressAuthorize, async (request, reply, oauth) => {
    const query = queryOf(request);
    const pressed = await oauth.press({
      query,
      ...checkSameOrigin(request.raw, origin),
      readButton: async () => {
        const body = await parts.takeBody(request, reply, FORM_BODY_BYTES);
        return body.kind === 'read' ? buttonIn(request, body.bytes) : undefined;
      },
      takeFromLimit: () => parts.takeFromLimit('wrongTokens', request, reply),
      giveBack: () => parts.giveBack('wrongTokens', request),
    });
    if (pressed.kind === 'returned') return leave(reply, pressed.location);
    if (pressed.kind !== 'again') return refuse(reply, oauth, pressed);
    allowReturn(reply, pressed.request.redirectUri, oauthHosts);
    return sendPage(reply, 403, oauth.page(pressed.request, { query, isWrong: true }));
  });
}

function registerTokens(app: FastifyInstance, parts: RouteParts): void {
  const add = (
    route: Route,
    run: (oauth: Oauth, sent: URLSearchParams, caller: Caller) => Promise<object | OauthRefusal>,
  ) =>
    app.route({
      ...at(route),
      handler: async (request, reply) => {
        reply.header('cache-control', 'no-store');
        const rate = await parts.takeFromLimit('oauthTokens', request, reply);
        if (rate.exceeded) {
          const refusal = { kind: 'rateLimited', retryAfterSeconds: rate.resetSeconds } as const;
          return sendProblem(reply, renderProblem(refusal, 'agent'));
        }
        const body = await parts.takeBody(request, reply, FORM_BODY_BYTES);
        if (body.kind === 'rateLimited') return sendProblem(reply, renderProblem(body, 'agent'));
        const sent = body.kind === 'read' ? sentForm(request.headers, body.bytes) : undefined;
        if (sent === undefined) return sendRefusal(reply, { kind: 'oauthRequest' });
        const answer = await run(await parts.openOauth(), sent.values, {
          authorization: headerLines(request.raw, 'authorization'),
          onSandbox: () => reply.header('sandbox', 'true'),
        });
        return 'kind' in answer ? sendRefusal(reply, answer as OauthRefusal) : reply.send(answer);
      },
    });

  add(routes.requestToken, async (oauth, sent, caller) => {
    const answer = await oauth.requestTokens(sent, caller);
    return answer.kind === 'issued' ? answer.body : answer;
  });
  add(routes.revokeToken, async (oauth, sent, caller) => (await oauth.revokeToken(sent, caller)) ?? {});
}

/** Sends an error of RFC 6749 §5.2. */
function sendRefusal(reply: FastifyReply, refusal: OauthRefusal): FastifyReply {
  const rendered = renderProblem(refusal, 'agent');
  const challenge = refusal.kind === 'oauthClient' && refusal.usedBasic && { 'www-authenticate': BASIC_CHALLENGE };
  const { sentence } = oauthProblems[refusal.kind];
  return sendProblem(reply, {
    ...rendered,
    headers: { ...rendered.headers, ...challenge },
    body: { ...rendered.body, error_description: sentence },
  });
}

function queryOf({ url }: FastifyRequest): URLSearchParams {
  return new URLSearchParams(url.split(/\?(.*)/s, 2)[1]);
}

/**
 * Lets the form lead to the host. Browsers apply `form-action` to each redirect after a form, and a host may redirect to
 * another listed host. No source of CSP matches an address of IPv6, so for such an address every host is allowed.
 */
function allowReturn(reply: FastifyReply, redirectUri: string, hosts: readonly string[]): void {
  const { origin, hostname } = new URL(redirectUri);
  const own = hostname.startsWith('[') ? 'http:' : origin;
  const allowed = new Set([own, ...hosts.map((host) => `https://${host}`)]);
  const policy = String(reply.getHeader('content-security-policy'));
  reply.header('content-security-policy', policy.replace("form-action 'self'", `$& ${[...allowed].join(' ')}`));
}

/** Returns the button that a form of our page sent, or undefined for any other body. */
function buttonIn({ headers }: FastifyRequest, bytes: Buffer): Button | undefined {
  const only = sentForm(headers, bytes);
  if (only?.('do') === 'cancel') return { do: 'cancel' };
  return only?.('do') === 'connect' ? { do: 'connect', token: only('token')?.trim() ?? '' } : undefined;
}
