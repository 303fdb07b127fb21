/** GET of everything that agents read (spec §4.1, §4.2; contract §4, "Discovery"). */
import type { FastifyInstance } from 'fastify';
import { renderProblem } from '../failures/render.ts';
import { once } from '../once.ts';
import type { Route } from '../route-groups.ts';
import { at, routes } from '../routes.ts';
import { type Document, prepareDocument, sendDocument, serve } from '../server/documents.ts';
import { eventTypes } from '../submissions/events.ts';
import {
  AI_CATALOG_TYPE,
  API_CATALOG_TYPE,
  aiCatalog,
  apiCatalog,
  SERVER_CARD_TYPE,
  serverCard,
} from './catalogs.ts';
import { contentIndex, contentResources, type SourcePage } from './content.ts';
import { eventSchema } from './events.ts';
import type { Facts } from './facts.ts';
import { llmsText } from './llms.ts';
import { type ManifestFacts, manifest } from './manifest.ts';
import { SKILL, skillsIndex, skillText } from './skill.ts';
import { toolIndex } from './tool-index.ts';
import { toolShapes } from './tools.ts';

/** Any page may read these. */
const ANY_ORIGIN = { 'access-control-allow-origin': '*' };

/** Adds the routes of discovery, and those of the definitions. */
export function registerDiscovery(
  app: FastifyInstance,
  parts: ManifestFacts & {
    pages: () => readonly SourcePage[];
    openapi: () => Promise<object>;
    agentsOpenapi: () => Promise<object>;
  },
): void {
  const described = prepareJson(() => manifest(parts));
  const llms = prepareDocument(
    () => llmsText(parts.pages(), parts),
    'text/plain; charset=utf-8',
    ANY_ORIGIN,
  );

  serve(app, at(routes.getWellKnownManifest), described);
  serve(app, at(routes.getManifest), described);
  serve(app, at(routes.getLlmsText), llms);
  registerContent(app, parts.pages, parts.baseUrl);
  registerEventSchemas(app, parts.baseUrl);
  registerTools(app, parts);
  registerDocument(app, routes.getOpenapiDocument, parts.openapi);
  registerDocument(app, routes.getAgentsDocument, parts.agentsOpenapi);
  registerCatalogs(app, parts);
}

/** Where one request finds everything (beyond §8). */
function registerCatalogs(app: FastifyInstance, facts: Facts): void {
  const own = { link: `<${facts.baseUrl}${routes.apiCatalog.path}>; rel="api-catalog"` };
  serve(
    app,
    at(routes.apiCatalog),
    prepareJson(() => apiCatalog(facts), API_CATALOG_TYPE, own),
  );
  serve(
    app,
    at(routes.skillsIndex),
    prepareJson(() => skillsIndex(facts)),
  );
  const skill = prepareDocument(() => skillText(facts), 'text/markdown; charset=utf-8', ANY_ORIGIN);
  serve(app, at(routes.skill, { skill: SKILL }), skill);
  if (facts.mcp !== 'on') return;
  serve(
    app,
    at(routes.aiCatalog),
    prepareJson(() => aiCatalog(facts), AI_CATALOG_TYPE),
  );
  serve(
    app,
    at(routes.serverCard),
    prepareJson(() => serverCard(facts), SERVER_CARD_TYPE),
  );
}

/** What the maker of an agent gives a language model. */
function registerTools(app: FastifyInstance, facts: Facts): void {
  const index = prepareJson(() => toolIndex(facts));
  serve(app, at(routes.toolIndex), index);
  for (const [shape, describe] of Object.entries(toolShapes)) {
    const tools = prepareJson(() => describe(facts));
    serve(app, at(routes.toolShape, { shape }), tools);
  }
}

/** The index, or the last `resource` that is asked for; unknown: 404, which names the next call. */
function registerContent(
  app: FastifyInstance,
  pages: () => readonly SourcePage[],
  baseUrl: string,
): void {
  const index = prepareJson(() => contentIndex(pages(), baseUrl));
  const resources = once(() => {
    const entries = contentResources(pages(), baseUrl);
    return new Map(entries.map(([id, make]) => [id, prepareJson(make)]));
  });
  const { status, body } = renderProblem({ kind: 'unknownResource' }, 'agent');
  const unknown = prepareJson(() => body);

  app.route<{ Querystring: { resource?: string | string[] } }>({
    ...at(routes.listContent),
    handler: (request, reply) => {
      const wanted = [request.query.resource].flat().at(-1);
      const document = wanted === undefined ? index : resources().get(wanted);
      if (document !== undefined) return sendDocument(request, reply, document);
      return reply.code(status).headers(unknown.identity.headers).send(unknown.identity.body);
    },
  });
}

/** What a receiver of the events validates them with; each knows its own address (contract §3). */
function registerEventSchemas(app: FastifyInstance, baseUrl: string): void {
  for (const type of eventTypes) {
    const route = at(routes.eventSchema, { type });
    const document = prepareDocument(
      () => {
        const { $schema, ...schema } = eventSchema(type);
        return JSON.stringify({ $schema, $id: baseUrl + route.url, ...schema });
      },
      'application/schema+json; charset=utf-8',
      ANY_ORIGIN,
    );
    serve(app, route, document);
  }
}

function registerDocument(
  app: FastifyInstance,
  route: Route,
  openapi: () => Promise<object>,
): void {
  const document = once(async () => {
    const made = await openapi();
    return prepareJson(() => made);
  });
  app.route({
    ...at(route),
    handler: async (request, reply) => sendDocument(request, reply, await document()),
  });
}

function prepareJson(
  make: () => object,
  contentType = 'application/json; charset=utf-8',
  headers: Record<string, string> = {},
): Document {
  return prepareDocument(() => JSON.stringify(make()), contentType, { ...ANY_ORIGIN, ...headers });
}
