/** The operations without a credential: forms of browsers (reference §4.4, §4.5) and discovery (reference §7, §14). */
import { exampleFields, fallbackForm, forms } from '../../forms/catalog.ts';
import { titleOf } from '../form-schemas.ts';
import { schema } from './components.ts';
import { byName, type Described, DOCUMENT_HEADERS, json, mediaOf, RATE_HEADERS, response } from './responses.ts';

const FORM_TYPES = ['application/json', 'application/x-www-form-urlencoded', 'multipart/form-data'];

function formOperation(description: string, media: object, headers: readonly string[]): Described {
  const accepted = json(schema('Accepted'), { accepted: { ok: true } });
  return {
    description,
    'x-openai-isConsequential': true,
    security: [],
    requestBody: {
      required: true,
      description: 'Flat text values. The answer is JSON to JSON; otherwise a redirect or a page.',
      content: Object.fromEntries(FORM_TYPES.map((type) => [type, media])),
    },
    responses: {
      200: response('forms', 'Accepted; the answer to a JSON request.', accepted, headers),
      303: response('forms', 'Accepted; the answer to a native form.', undefined, [...headers, 'Location']),
    },
  };
}

const optional = (name: string, place: 'header' | 'query', description: string) => {
  return { name, in: place, required: false, description, schema: { type: 'string' } };
};
const ifNoneMatch = optional(
  'If-None-Match',
  'header',
  'An ETag that was sent before; 304 where nothing has changed since.',
);
const resource = optional('resource', 'query', 'An `id` of the index. Of several, the last one counts.');

function document(description: string, content: object, parameters = [ifNoneMatch]): Described {
  return {
    description,
    security: [],
    parameters,
    responses: {
      200: response('discovery', 'The document.', content, DOCUMENT_HEADERS),
      304: response('discovery', 'Not changed since the ETag that was sent.', undefined, DOCUMENT_HEADERS),
    },
  };
}

const manifest = document(
  'Start here: each action with its fields and bounds, the steps, scopes and limits. Then call previewAction.',
  json(schema('Manifest')),
);
const everyForm = Object.values(forms);

/** The operations by `operationId`. The manifest has two addresses. */
export const publicOperations = {
  submitLead: formOperation(
    `The route of the browser forms; \`form\` selects one, and a missing or unknown one means ${fallbackForm.name}. Automated clients call previewAction and executeAction instead.`,
    mediaOf(
      { anyOf: everyForm.map(({ name }) => schema(`${titleOf(name)}Lead`)) },
      byName(everyForm, (form) => ({ form: form.name, ...exampleFields(form) })),
    ),
    ['Submission-Reference'],
  ),
  subscribeNewsletter: formOperation(
    'The route of the newsletter form. Sends the address a confirmation e-mail; an address already on the list gets the same answer. Automated clients call previewAction for the newsletter instead.',
    mediaOf(schema('Subscription'), { subscription: { ...exampleFields(forms.newsletter), privacy: 'on' } }),
    RATE_HEADERS,
  ),
  getWellKnownManifest: manifest,
  getManifest: manifest,
  listContent: document(
    'Without `resource`, the index of the pages; with an `id` of the index, that page with its Markdown.',
    json({ anyOf: [schema('ContentIndex'), schema('ContentResource')] }),
    [resource, ifNoneMatch],
  ),
  getLlmsText: document('A short text for language models: how to act here, and a link to each page in Markdown.', {
    'text/plain': { schema: { type: 'string' } },
  }),
  getReceiptKeys: document(
    'The keys that signed receipts are verified with: a JSON Web Key Set. An old key stays as long as receipts of it are kept.',
    { 'application/jwk-set+json': { schema: schema('ReceiptKeys') } },
  ),
  getOpenapiDocument: document(
    'This OpenAPI document, derived from the routes. Call getManifest for a shorter overview.',
    json({ type: 'object' }),
  ),
};
