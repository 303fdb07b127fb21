/**
 * OpenAPI 3.1.1, derived from the routes themselves: `@fastify/swagger` gives method and path of each;
 * what stands there comes from `operationTable`, the catalogue of forms and the failure catalogue
 * (spec §9), what stands around it, and the webhooks (contract §3), from here.
 */
import swagger from '@fastify/swagger';
import fastify, { type RouteOptions } from 'fastify';
import { NO_COMPILERS } from '../../server/no-compilers.ts';
import { eventExamples, eventTypes } from '../events.ts';
import { type Facts, formsOf, paths } from '../facts.ts';
import { titleOf } from '../form-schemas.ts';
import type { OpenapiDocument } from '../reference/markdown.ts';
import { API_VERSION } from '../version.ts';
import { componentSchemas, reference, securitySchemes } from './components.ts';
import { describeOperation } from './describe.ts';
import { headers } from './headers.ts';
import { type OperationId, operationTable } from './operations.ts';
import { json } from './responses.ts';

/** Paths as they are generated from the routes, by path and method. */
type DocumentedPaths = Record<string, Record<string, { operationId: string }>>;

const tags = [
  {
    name: 'Discovery',
    description: 'What there is here and how to use it. Public; start with getManifest.',
  },
  {
    name: 'Actions',
    description:
      'Two steps for agents: previewAction, then, after the user has explicitly agreed, executeAction.',
  },
  {
    name: 'Forms',
    description: 'The same forms for browsers. Agents use previewAction and executeAction instead.',
  },
  {
    name: 'Events',
    description: 'What is sent to the destination of the submissions, as Standard Webhooks.',
  },
];

/** Takes the documented routes and the facts of the deployment; returns the document. */
export async function generateDocument(
  routes: readonly RouteOptions[],
  facts: Facts,
): Promise<OpenapiDocument> {
  // The routes of the service stand on an application that is never asked, so that the service itself
  // starts without the library.
  const bare = fastify({ schemaController: { compilersFactory: NO_COMPILERS } });
  await bare.register(swagger, {
    openapi: { openapi: '3.1.1', info: { title: '', version: '' } },
    hideUntagged: true,
    // The base address may hold a path; a route never does.
    stripBasePath: false,
    transformObject: (generated) => {
      const { paths } = 'openapiObject' in generated ? generated.openapiObject : {};
      return {
        ...documentFrame(facts),
        paths: fillPaths(paths as DocumentedPaths, facts),
      } as object;
    },
  });
  for (const { method, url, schema } of routes) {
    bare.route({ method, url, handler: () => {}, ...(schema && { schema }) });
  }
  await bare.ready();
  return bare.swagger() as unknown as OpenapiDocument;
}

/** Takes the facts of the deployment; returns the document without its paths. */
function documentFrame(facts: Facts): Record<string, unknown> {
  return {
    openapi: '3.1.1',
    info: {
      title: `${facts.operatorName}: lead intake and agent actions`,
      summary: 'Forms for browsers, and for agents that preview, confirm and execute.',
      description:
        'Agents call getManifest, then previewAction, show the user the fields, the destination and the statement, and call executeAction only after an explicit yes. Browsers use the form routes.',
      version: API_VERSION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: facts.baseUrl, description: 'This deployment.' }],
    tags: tags.map((tag) =>
      tag.name === 'Events' ? { ...tag, externalDocs: receiversGuide(facts) } : tag,
    ),
    components: { schemas: componentSchemas(formsOf(facts)), headers, securitySchemes },
    webhooks: Object.fromEntries(eventTypes.map((type) => [type, { post: webhook(type, facts) }])),
  };
}

/** Takes the generated paths; returns them with the whole description of each operation. */
function fillPaths(paths: DocumentedPaths, facts: Facts): Record<string, object> {
  const filled = Object.entries(paths).map(([path, methods]) => {
    const described = Object.entries(methods).map(([method, { operationId }]) => {
      if (!Object.hasOwn(operationTable, operationId)) {
        throw new Error(`${method} ${path} has no entry in operationTable.`);
      }
      return [method, describeOperation(operationId as OperationId, facts)];
    });
    return [path, Object.fromEntries(described)];
  });
  return Object.fromEntries(filled);
}

const deliveryHeaders = {
  'webhook-id': 'Identifier of the event; ignore one that was seen before.',
  'idempotency-key': 'Equal to webhook-id.',
  'webhook-timestamp': 'When it was sent, in seconds since 1970.',
  'webhook-signature': 'Standard Webhooks, HMAC-SHA256; sent where UPSTREAM_SECRET is set.',
};

function receiversGuide({ baseUrl }: Facts): object {
  return {
    description: 'How to verify and de-duplicate the events.',
    url: baseUrl + paths.receiversPage,
  };
}

function webhook(type: (typeof eventTypes)[number], { baseUrl }: Facts): object {
  return {
    operationId: `receive${titleOf(type)}`,
    tags: ['Events'],
    summary: `Receive ${type}`,
    description: `One POST to the destination for each accepted submission of type ${type}. None is repeated after an unclear answer.`,
    externalDocs: {
      description: 'The body as JSON Schema.',
      url: `${baseUrl}${paths.eventSchemas}${type}.json`,
    },
    security: [],
    parameters: Object.entries(deliveryHeaders).map(([name, description]) => ({
      name,
      in: 'header',
      required: name !== 'webhook-signature',
      description,
      schema: { type: 'string' },
    })),
    requestBody: {
      required: true,
      content: json(reference('schemas', `${titleOf(type)}Event`), eventExamples(type)),
    },
    responses: {
      '2XX': { description: 'Confirmed. The status alone counts.' },
      ...(type === 'subscriber.created'
        ? { 409: { description: 'Already on the list, which counts as confirmed.' } }
        : {}),
      429: {
        description: 'Rate limited; relayed to an agent with its Retry-After.',
        headers: { 'Retry-After': reference('headers', 'Retry-After') },
      },
      '4XX': { description: 'Rejected.' },
      '5XX': { description: 'Not confirmed.' },
    },
  };
}
