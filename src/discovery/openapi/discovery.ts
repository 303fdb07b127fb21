/** The public operations (spec §4.1, §4.2; beyond §5). */
import { reference } from './components.ts';
import { type Described, DOCUMENT_HEADERS, json, response } from './responses.ts';

const ifNoneMatch = {
  name: 'If-None-Match',
  in: 'header',
  required: false,
  description: 'An ETag that was sent before; 304 where nothing has changed since.',
  schema: { type: 'string' },
};

const resource = {
  name: 'resource',
  in: 'query',
  required: false,
  description: 'An `id` of the index. Of several, the last one counts.',
  schema: { type: 'string' },
};

const unchanged = 'Not changed since the ETag that was sent.';

function discovery(
  description: string,
  content: object,
  parameters: object[] = [ifNoneMatch],
): Described {
  return {
    description,
    security: [],
    parameters,
    responses: {
      200: response('discovery', 'The document.', content, DOCUMENT_HEADERS),
      304: response('discovery', unchanged, undefined, DOCUMENT_HEADERS),
    },
  };
}

const manifest = discovery(
  'Start here: each action with its fields and bounds, the steps, scopes and limits. Then call previewAction.',
  json(reference('schemas', 'Manifest')),
);

const content = discovery(
  'Without `resource`, the index of the pages; with an `id` of the index, that page with its Markdown.',
  json({ anyOf: [reference('schemas', 'ContentIndex'), reference('schemas', 'ContentResource')] }),
  [resource, ifNoneMatch],
);

const llmsText = discovery(
  'A short text for language models: how to act here, and a link to each page in Markdown.',
  { 'text/plain': { schema: { type: 'string' } } },
);

const document = discovery(
  'This OpenAPI document, derived from the routes. Call getManifest for a shorter overview.',
  json({ type: 'object' }),
);

const receiptKeys = discovery(
  'The keys that signed receipts are verified with: a JSON Web Key Set. An old key stays as long as receipts of it are kept.',
  { 'application/jwk-set+json': { schema: reference('schemas', 'ReceiptKeys') } },
);

/** By `operationId`; the manifest has two addresses. */
export const discoveryOperations = {
  getWellKnownManifest: manifest,
  getManifest: manifest,
  listContent: content,
  getLlmsText: llmsText,
  getReceiptKeys: receiptKeys,
  getOpenapiDocument: document,
};
