/** How an answer and its body are written in OpenAPI, headers included. */
import { headerReferences } from './headers.ts';
import type { Tag } from './operations.ts';

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
  tag: Tag,
  description: string,
  content: object | undefined,
  furtherHeaders: readonly string[] = [],
): object {
  return {
    description,
    headers: headerReferences(tag, furtherHeaders),
    ...(content === undefined ? {} : { content }),
  };
}
