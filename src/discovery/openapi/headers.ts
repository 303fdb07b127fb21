/** The headers of the answers, and which of them an answer of each group carries (contract §4). */
import { reference } from './components.ts';
import type { Tag } from './operations.ts';

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
  Location: header('Where a native form post goes on.', '/thank-you'),
  ETag: header('Send it back as If-None-Match to get 304.', '"Zm9vYmFyYmF6cXV4MTIzNA"'),
  'Access-Control-Allow-Origin': header('Any page may read this.', '*'),
};

type HeaderName = keyof typeof headers;

/** What an answer carries once its request was counted. */
export const RATE_HEADERS: readonly HeaderName[] = ['RateLimit', 'RateLimit-Policy'];

const always: Record<Tag, readonly HeaderName[]> = {
  Discovery: ['X-Request-Id'],
  Actions: ['X-Request-Id', 'Cache-Control'],
  Forms: ['X-Request-Id', 'Cache-Control'],
};

/** Takes a group and further headers, in any case; returns references to all of them by name. */
export function headerReferences(tag: Tag, further: readonly string[]): Record<string, object> {
  const wanted = new Set([...always[tag], ...further].map((name) => name.toLowerCase()));
  const names = Object.keys(headers).filter((name) => wanted.delete(name.toLowerCase()));
  if (wanted.size > 0) throw new Error(`Undocumented header: ${[...wanted].join(', ')}`);
  return Object.fromEntries(names.map((name) => [name, reference('headers', name)]));
}
