/** GET of the documents for agents (reference §3.11, §14). */
import type { FastifyInstance } from 'fastify';
import { renderProblem } from '../failures/render.ts';
import { once } from '../platform/lazy.ts';
import { at, pages, routes } from '../routes.ts';
import { type Document, prepareDocument, registerPage, sendDocument, serve, serveLazily } from '../server/documents.ts';
import type { Frame } from '../site/layout.ts';
import type { SiteSettings } from '../site/placeholders.ts';
import { eventTypes } from '../submissions/events.ts';
import { ardManifest } from './ard.ts';
import { API_CATALOG_TYPE, apiCatalog, SERVER_CARD_TYPE, serverCard } from './catalogs.ts';
import { contentIndex, contentResources, type SourcePage } from './content.ts';
import { eventSchema } from './events.ts';
import { type ManifestFacts, manifest } from './manifest.ts';
import { llmsText, SKILL, skillsIndex, skillText } from './model-texts.ts';

/** Pages of every site may read these documents. */
const ANY_ORIGIN = { 'access-control-allow-origin': '*' };
const JSON_TYPE = 'application/json; charset=utf-8';

type DiscoveryParts = ManifestFacts & {
  pages: () => Promise<readonly SourcePage[]>;
  settings: SiteSettings;
  frame: () => Frame;
};

/** Registers the routes of discovery and definitions, and the API reference. */
export function registerDiscovery(app: FastifyInstance, parts: DiscoveryParts): void {
  const { baseUrl } = parts;
  serveLazily(app, at(routes.getLlmsText), async () => {
    const found = await parts.pages();
    return prepareText(() => llmsText(found, parts), 'text/plain; charset=utf-8');
  });
  registerContent(app, parts);
  const actions = prepareJson(() => manifest(parts));
  // One request to the catalogue leads to every document (reference §14.8).
  const link = `<${baseUrl}${routes.apiCatalog.path}>; rel="api-catalog"`;
  const documents: [ReturnType<typeof at>, Document][] = [
    [at(routes.getWellKnownManifest), actions],
    [at(routes.getManifest), actions],
    [at(routes.apiCatalog), prepareJson(() => apiCatalog(parts), API_CATALOG_TYPE, { link })],
    [at(routes.ardManifest), prepareJson(() => ardManifest(parts))],
    [at(routes.skillsIndex), prepareJson(() => skillsIndex(parts))],
    [at(routes.skill, { skill: SKILL }), prepareText(() => skillText(parts), 'text/markdown; charset=utf-8')],
  ];
  if (parts.mcp === 'on') {
    documents.push([at(routes.serverCard), prepareJson(() => serverCard(parts), SERVER_CARD_TYPE)]);
    // The manifest of ARD was here before version 0.91.
    app.route({
      ...at(routes.aiCatalog),
      handler: (_request, reply) =>
        reply.headers({ ...ANY_ORIGIN, 'cache-control': 'public, max-age=300' }).redirect(routes.ardManifest.path, 308),
    });
  }
  for (const type of eventTypes) {
    const route = at(routes.eventSchema, { type });
    // Each schema has its own address as `$id` (reference §14.7).
    const schema = () => {
      const { $schema, ...rest } = eventSchema(type);
      return { $schema, $id: baseUrl + route.url, ...rest };
    };
    documents.push([route, prepareJson(schema, 'application/schema+json; charset=utf-8')]);
  }
  for (const [route, document] of documents) serve(app, route, document);

  // The first request loads the modules that make OpenAPI.
  const openapi = once(async () => (await import('./openapi/document.ts')).makeDocument(parts));
  serveLazily(app, at(routes.getOpenapiDocument), async () => {
    const document = await openapi();
    return prepareJson(() => document);
  });
  serveLazily(app, at(routes.getAgentsDocument), async () => {
    const { makeAgentsDocument } = await import('./openapi/agents.ts');
    return prepareJson(() => makeAgentsDocument(parts));
  });
  registerPage(app, pages.reference, async () => {
    const { renderReference } = await import('./reference/markdown.ts');
    return renderReference(await openapi(), parts.settings, parts.frame());
  });
}

/** Serves the index, or the last `resource` of the query. The 404 for an unknown resource names the next call. */
function registerContent(app: FastifyInstance, parts: DiscoveryParts): void {
  const content = once(async () => {
    const found = await parts.pages();
    const resources = contentResources(found, parts.baseUrl);
    return {
      index: prepareJson(() => contentIndex(found, parts.baseUrl)),
      resources: new Map(resources.map(([id, make]) => [id, prepareJson(make)])),
    };
  });
  const { status, body } = renderProblem({ kind: 'unknownResource' }, 'agent');
  const unknown = prepareJson(() => body);

  app.route<{ Querystring: { resource?: string | string[] } }>({
    ...at(routes.listContent),
    handler: async (request, reply) => {
      const { index, resources } = await content();
      const wanted = [request.query.resource].flat().at(-1);
      const document = wanted === undefined ? index : resources.get(wanted);
      if (document !== undefined) return sendDocument(request, reply, document);
      return reply.code(status).headers(unknown.identity.headers).send(unknown.identity.body);
    },
  });
}

function prepareJson(make: () => object, contentType = JSON_TYPE, headers: object = {}) {
  return prepareText(() => JSON.stringify(make()), contentType, headers);
}

function prepareText(make: () => string, contentType: string, headers: object = {}) {
  return prepareDocument(make, contentType, { ...ANY_ORIGIN, ...headers });
}
