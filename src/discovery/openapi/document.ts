/**
 * OpenAPI 3.1.1 (reference §14.5). Paths come from the list of routes, operations from the catalogue of forms and the
 * failure catalogue. Webhooks (reference §10.2) are here.
 */
import { type OperationId, pages, pathTo, routes, templateOf } from '../../routes.ts';
import { eventExamples, eventTypes } from '../../submissions/events.ts';
import { API_VERSION, type Facts, formsOf } from '../deployment.ts';
import { titleOf } from '../form-schemas.ts';
import type { OpenapiDocument } from '../reference/schemas.ts';
import { agentOperations } from './agent-operations.ts';
import { componentSchemas, reference, schema, securitySchemes } from './components.ts';
import { failureResponses } from './failures.ts';
import { publicOperations } from './public-operations.ts';
import { type Described, headers, json } from './responses.ts';

/** The tags, in the order in which an agent's developer needs them. The API reference has the same order. */
const tags = [
  {
    name: 'Actions',
    description:
      'Two steps for agents: previewAction, then, after the user has explicitly agreed, executeAction. getManifest lists the actions and their fields.',
  },
  { name: 'Forms', description: 'The same forms for browsers. Agents use previewAction and executeAction instead.' },
  { name: 'Discovery', description: 'What there is here and how to use it. Public; start with getManifest.' },
];

export function makeDocument(facts: Facts): OpenapiDocument {
  const events = {
    name: 'Events',
    description: 'What is sent to the destination of the submissions, as Standard Webhooks.',
    externalDocs: {
      description: 'How to verify and de-duplicate the events.',
      url: facts.baseUrl + pages.receivers.path,
    },
  };
  const document = {
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
    tags: [...tags, events],
    components: { schemas: componentSchemas(formsOf(facts)), headers, securitySchemes },
    webhooks: Object.fromEntries(eventTypes.map((type) => [type, { post: webhook(type, facts) }])),
    paths: documentedPaths(facts),
  };
  return document as unknown as OpenapiDocument;
}

const tagOf = { actions: 'Actions', forms: 'Forms', discovery: 'Discovery' };

/** Returns the operations with their failures, by path and method, in the order of the list of routes. */
function documentedPaths(facts: Facts): Record<string, Record<string, object>> {
  const operations: Record<OperationId, Described> = { ...agentOperations(facts), ...publicOperations };
  const paths: Record<string, Record<string, object>> = {};
  for (const operationId of Object.keys(routes) as OperationId[]) {
    if (!Object.hasOwn(operations, operationId)) continue;
    const { method, group, summary } = routes[operationId];
    const { responses, ...described } = operations[operationId];
    const path = templateOf(routes[operationId]);
    const operation = {
      operationId,
      tags: [tagOf[group]],
      summary,
      ...described,
      responses: { ...responses, ...failureResponses(operationId) },
    };
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation };
  }
  return paths;
}

const deliveryHeaders = {
  'user-agent': 'lead-intake/VERSION, with the version of this service.',
  'webhook-id': 'Identifier of the event; ignore one that was seen before.',
  'idempotency-key': 'Equal to webhook-id.',
  'webhook-timestamp': 'When it was sent, in seconds since 1970.',
  'webhook-signature':
    'Standard Webhooks, HMAC-SHA256. One signature for each key of UPSTREAM_SECRET, separated by blanks.',
};

function webhook(type: (typeof eventTypes)[number], { baseUrl }: Facts): object {
  return {
    operationId: `receive${titleOf(type)}`,
    tags: ['Events'],
    summary: `Receive ${type}`,
    description: `One POST to the destination for each event of type ${type}. What an agent executed is sent once; anything else is sent again under the same id where its answer was unclear.`,
    externalDocs: { description: 'The body as JSON Schema.', url: baseUrl + pathTo(routes.eventSchema, { type }) },
    security: [],
    parameters: Object.entries(deliveryHeaders).map(([name, description]) => {
      const required = name !== 'webhook-signature';
      return { name, in: 'header', required, description, schema: { type: 'string' } };
    }),
    requestBody: { required: true, content: json(schema(`${titleOf(type)}Event`), eventExamples(type)) },
    responses: {
      '2XX': { description: 'Confirmed. The status alone counts.' },
      ...(type !== 'lead.created' && { 409: { description: 'Already on the list, which counts as confirmed.' } }),
      429: {
        description: 'Rate limited; relayed to an agent with its Retry-After.',
        headers: { 'Retry-After': reference('headers', 'Retry-After') },
      },
      '4XX': { description: 'Rejected.' },
      '5XX': { description: 'Not confirmed.' },
    },
  };
}
