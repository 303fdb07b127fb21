/** The public operations (spec §4.1, §4.2). */
import { reference } from './components.ts';
import { type Described, DOCUMENT_HEADERS, json, response } from './responses.ts';

const ifNoneMatch = {
  name: 'If-None-Match',
  in: 'header',
  required: false,
  description: 'An ETag that was sent before; 304 where nothing has changed since.',
  schema: { type: 'string' },
};

function discovery(description: string, content: object): Described {
  return {
    description,
    security: [],
    parameters: [ifNoneMatch],
    responses: {
      200: response('discovery', 'The document.', content, DOCUMENT_HEADERS),
      304: response(
        'discovery',
        'Not changed since the ETag that was sent.',
        undefined,
        DOCUMENT_HEADERS,
      ),
    },
  };
}

/** Both addresses of the manifest. */
export function manifestOperation(): Described {
  return discovery(
    'Start here: each action with its fields and bounds, the steps, scopes and limits. Then call previewAction.',
    json(reference('schemas', 'Manifest')),
  );
}

/** The content index, and one resource of it. */
export function contentOperation(): Described {
  const { parameters = [], ...described } = discovery(
    'Without `resource`, the index of the pages; with an `id` of the index, that page with its Markdown.',
    json({
      anyOf: [reference('schemas', 'ContentIndex'), reference('schemas', 'ContentResource')],
    }),
  );
  const resource = {
    name: 'resource',
    in: 'query',
    required: false,
    description: 'An `id` of the index. Of several, the last one counts.',
    schema: { type: 'string' },
  };
  return { ...described, parameters: [resource, ...parameters] };
}

/** `/llms.txt`. */
export function llmsOperation(): Described {
  return discovery(
    'A short text for language models: how to act here, and a link to each page in Markdown.',
    { 'text/plain': { schema: { type: 'string' } } },
  );
}

/** `/openapi.json`. */
export function documentOperation(): Described {
  return discovery(
    'This OpenAPI document, derived from the routes. Call getManifest for a shorter overview.',
    json({ type: 'object' }),
  );
}
