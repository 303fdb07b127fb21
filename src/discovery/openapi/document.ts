/**
 * OpenAPI 3.1.1, derived from the list of routes; what stands at each path comes from the catalogue of forms
 * and the failure catalogue (spec §9), what stands around them, and the webhooks (contract §3), from here.
 */
import { pages, pathTo, routes } from '../../routes.ts';
import { eventExamples, eventTypes } from '../../submissions/events.ts';
import { API_VERSION, type Facts, formsOf } from '../facts.ts';
import { titleOf } from '../form-schemas.ts';
import type { OpenapiDocument } from '../reference/openapi-document.ts';
import { componentSchemas, reference, securitySchemes } from './components.ts';
import { documentedPaths } from './operations.ts';
import { headers, json } from './responses.ts';

/** In the order in which the maker of an agent needs them; the reference follows it. */
const tags = [
  {
    name: 'Actions',
    description:
      'Two steps for agents: previewAction, then, after the user has explicitly agreed, executeAction. getManifest lists the actions and their fields.',
  },
  {
    name: 'Forms',
    description: 'The same forms for browsers. Agents use previewAction and executeAction instead.',
  },
  {
    name: 'Discovery',
    description: 'What there is here and how to use it. Public; start with getManifest.',
  },
];

const events = {
  name: 'Events',
  description: 'What is sent to the destination of the submissions, as Standard Webhooks.',
};

/** Takes the facts of the deployment; returns the document. */
export function makeDocument(facts: Facts): OpenapiDocument {
  const guide = 'How to verify and de-duplicate the events.';
  const externalDocs = { description: guide, url: facts.baseUrl + pages.receivers.path };
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
    tags: [...tags, { ...events, externalDocs }],
    components: { schemas: componentSchemas(formsOf(facts)), headers, securitySchemes },
    webhooks: Object.fromEntries(eventTypes.map((type) => [type, { post: webhook(type, facts) }])),
    paths: documentedPaths(facts),
  };
  return document as unknown as OpenapiDocument;
}

const deliveryHeaders = {
  'webhook-id': 'Identifier of the event; ignore one that was seen before.',
  'idempotency-key': 'Equal to webhook-id.',
  'webhook-timestamp': 'When it was sent, in seconds since 1970.',
  'webhook-signature': 'Standard Webhooks, HMAC-SHA256; sent where UPSTREAM_SECRET is set.',
};

function webhook(type: (typeof eventTypes)[number], { baseUrl }: Facts): object {
  return {
    operationId: `receive${titleOf(type)}`,
    tags: ['Events'],
    summary: `Receive ${type}`,
    description: `One POST to the destination for each event of type ${type}. What an agent executed is sent once; anything else is sent again under the same id where its answer was unclear.`,
    externalDocs: {
      description: 'The body as JSON Schema.',
      url: baseUrl + pathTo(routes.eventSchema, { type }),
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
      ...(type !== 'lead.created'
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
