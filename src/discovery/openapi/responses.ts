/** How an operation and its answers are written in OpenAPI, headers included (contract §4). */
import { EXAMPLE_ACTION_ID } from '../../actions/examples.ts';
import type { DocumentedGroup } from '../../route-groups.ts';
import { linkToReceipt, pages } from '../../routes.ts';
import { reference } from './components.ts';

/** What an operation says of itself; its failures are added from the failure catalogue. */
export type Described = {
  description: string;
  /** Explicit everywhere: empty on a public route (spec §5). */
  security: object[];
  parameters?: object[];
  requestBody?: object;
  responses: Record<string, object>;
  'x-openai-isConsequential'?: boolean;
};

const header = (description: string, example: string, type = 'string') => ({
  description,
  schema: { type },
  example: type === 'integer' ? Number(example) : example,
});

/** Every header that is documented, by its name. */
export const headers = {
  'X-Request-Id': header(
    'Names this request in the operator’s logs.',
    '5f0c6f0e-7d5b-4b0c-8f64-2f0f6f1f9a77',
  ),
  'Cache-Control': header(
    '`no-store` on agent and form responses, `public` on discovery.',
    'no-store',
  ),
  RateLimit: header('What is left of the limit, and for how many seconds.', '"preview";r=59;t=60'),
  'RateLimit-Policy': header('The limit and its window in seconds.', '"preview";q=60;w=60'),
  'Retry-After': header('Whole seconds to wait before the next request.', '30', 'integer'),
  'WWW-Authenticate': header(
    'The Bearer challenge (RFC 6750).',
    'Bearer realm="agent actions", error="invalid_token"',
  ),
  'Idempotent-Replayed': header('`true` on the replay of an earlier execution.', 'true'),
  Link: header('Where the receipt is, signed: getReceipt.', linkToReceipt(EXAMPLE_ACTION_ID)),
  Location: header('Where a native form post goes on.', pages.thankYou.path),
  'Submission-Reference': header(
    'What a person names when they ask the operator about what they sent; a subscription has none.',
    '0191ab6e-7c10-7d2a-9b1e-0c5d8e2f4a61',
  ),
  ETag: header('Send it back as If-None-Match to get 304.', '"Zm9vYmFyYmF6cXV4MTIzNA"'),
  'Access-Control-Allow-Origin': header('Any page may read this.', '*'),
};

type HeaderName = keyof typeof headers;

/** What an answer carries once its request was counted. */
export const RATE_HEADERS: readonly HeaderName[] = ['RateLimit', 'RateLimit-Policy'];

/** What an answer carries that is kept as a document, that of an unknown resource too. */
export const DOCUMENT_HEADERS: readonly HeaderName[] = [
  'ETag',
  'Cache-Control',
  'Access-Control-Allow-Origin',
];

const always: Record<DocumentedGroup, readonly HeaderName[]> = {
  discovery: ['X-Request-Id'],
  actions: ['X-Request-Id', 'Cache-Control'],
  forms: ['X-Request-Id', 'Cache-Control'],
};

/** Takes a group and further headers, in any case; returns references to all of them by name. */
function headerReferences(
  group: DocumentedGroup,
  further: readonly string[],
): Record<string, object> {
  const wanted = new Set([...always[group], ...further].map((name) => name.toLowerCase()));
  const names = Object.keys(headers).filter((name) => wanted.delete(name.toLowerCase()));
  if (wanted.size > 0) throw new Error(`Undocumented header: ${[...wanted].join(', ')}`);
  return Object.fromEntries(names.map((name) => [name, reference('headers', name)]));
}

/** Takes a schema and example bodies by name; returns the content of a JSON body. */
export function json(schema: object, examples: Record<string, unknown> = {}): object {
  return { 'application/json': { schema, ...namedExamples(examples) } };
}

/** Takes example bodies by name; returns them as `examples`, or nothing where there is none. */
export function namedExamples(bodies: Record<string, unknown>): { examples?: object } {
  const examples = Object.entries(bodies).map(([name, value]) => [name, { value }]);
  return examples.length === 0 ? {} : { examples: Object.fromEntries(examples) };
}

/** Takes the group, the words, the content and the headers beyond the group's own. */
export function response(
  group: DocumentedGroup,
  description: string,
  content: object | undefined,
  furtherHeaders: readonly string[] = [],
): object {
  return {
    description,
    headers: headerReferences(group, furtherHeaders),
    ...(content === undefined ? {} : { content }),
  };
}
