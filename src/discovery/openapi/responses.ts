/** How OpenAPI describes an operation and its answers, headers included (reference §3.7). */
import { EXAMPLE_ACTION_ID } from '../../actions/examples.ts';
import type { Form } from '../../forms/catalog.ts';
import type { DocumentedGroup } from '../../route-groups.ts';
import { linkToReceipt, pages } from '../../routes.ts';
import { reference } from './components.ts';

/** An operation without its failures, which come from the failure catalogue. */
export type Described = {
  description: string;
  'x-openai-isConsequential'?: boolean;
  /** Required credentials. The list is empty on a public route, but never undefined (reference §16.1). */
  security: object[];
  parameters?: object[];
  requestBody?: object;
  responses: Record<string, object>;
};

const header = <E extends string | number>(description: string, example: E) => {
  return { description, schema: { type: typeof example === 'number' ? 'integer' : 'string' }, example };
};

/** Every documented header, by name. */
export const headers = {
  'X-Request-Id': header('Names this request in the operator’s logs.', '5f0c6f0e-7d5b-4b0c-8f64-2f0f6f1f9a77'),
  'Cache-Control': header('`no-store` on agent and form responses, `public` on discovery.', 'no-store'),
  RateLimit: header('What is left of the limit, and for how many seconds.', '"preview";r=59;t=60'),
  'RateLimit-Policy': header('The limit and its window in seconds.', '"preview";q=60;w=60'),
  'Retry-After': header('Whole seconds to wait before the next request.', 30),
  'WWW-Authenticate': header('The Bearer challenge (RFC 6750).', 'Bearer realm="agent actions", error="invalid_token"'),
  'Idempotent-Replayed': header('`true` on the replay of an earlier execution.', 'true'),
  'Ignored-Fields': header('Names of fields that the form does not have, at most 20. Absent if there are none.', 'zip'),
  Sandbox: header('`true` for the credential of a sandbox client, otherwise absent.', 'true'),
  Link: header('Where the receipt is, signed: getReceipt.', linkToReceipt(EXAMPLE_ACTION_ID)),
  Location: header('Where a native form post goes on.', pages.thankYou.path),
  'Submission-Reference': header(
    'What a person names when they ask the operator about what they sent; a subscription has none.',
    '0191ab6e-7c10-7d2a-9b1e-0c5d8e2f4a61',
  ),
  ETag: header('Send it back as If-None-Match to get 304.', '"Zm9vYmFyYmF6cXV4MTIzNA"'),
  'Access-Control-Allow-Origin': header('Any page may read this.', '*'),
};

/** Headers of an answer whose request was counted. */
export const RATE_HEADERS: readonly string[] = ['RateLimit', 'RateLimit-Policy'];

/** Headers of a document, and of the answer to an unknown resource. */
export const DOCUMENT_HEADERS: readonly string[] = ['ETag', 'Cache-Control', 'Access-Control-Allow-Origin'];

/** Returns the content of a JSON body, with example bodies by name. */
export function json(schema: object, examples: Record<string, unknown> = {}): object {
  return { 'application/json': mediaOf(schema, examples) };
}

/** Returns the schema of a body, with example bodies by name, for any media type. */
export function mediaOf(schema: object, bodies: Record<string, unknown>): object {
  const examples = Object.entries(bodies).map(([name, value]) => [name, { value }]);
  return examples.length === 0 ? { schema } : { schema, examples: Object.fromEntries(examples) };
}

/** Returns an example for each form, by the name of the form. */
export function byName<T>(forms: readonly Form[], make: (form: Form) => T): Record<string, T> {
  return Object.fromEntries(forms.map((form) => [form.name, make(form)]));
}

/** Returns an answer with the headers of the group and further headers, whose names may have any case. */
export function response(
  group: DocumentedGroup,
  description: string,
  content: object | undefined,
  further: readonly string[] = [],
): object {
  const common = group === 'discovery' ? ['X-Request-Id'] : ['X-Request-Id', 'Cache-Control'];
  const wanted = new Set([...common, ...further].map((name) => name.toLowerCase()));
  const names = Object.keys(headers).filter((name) => wanted.delete(name.toLowerCase()));
  if (wanted.size > 0) throw new Error(`Undocumented header: ${[...wanted].join(', ')}`);
  return {
    description,
    headers: Object.fromEntries(names.map((name) => [name, reference('headers', name)])),
    ...(content && { content }),
  };
}
