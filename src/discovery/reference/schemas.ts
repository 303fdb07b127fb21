/**
 * The parts of OpenAPI that the reference reads, and functions that write schemas as Markdown: a table of properties,
 * or a type in words.
 */

export type Schema = {
  $ref?: string;
  title?: string;
  type?: string | string[];
  format?: string;
  const?: unknown;
  enum?: unknown[];
  description?: string;
  required?: string[];
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  maxLength?: number;
};

export type Body = { schema: Schema; examples?: Record<string, { value: unknown }> };

export type Operation = {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  security: Record<string, string[]>[];
  parameters?: { name: string; in: string; required: boolean; description: string; schema: Schema; example?: string }[];
  requestBody?: { content: Record<string, Body> };
  responses: Record<string, { description: string; content?: Record<string, Body> }>;
};

export type OpenapiDocument = {
  info: { description: string; version: string };
  servers: { url: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, { post: Operation }>;
  components: { schemas: Record<string, Schema> };
};

/** Returns the properties of a schema as a table, or the schema's type as a sentence if it has no properties. */
export function describeSchema(schema: Schema): string {
  const properties = Object.entries(schema.properties ?? {});
  const type = typeOf(schema);
  if (properties.length === 0) return `${type.charAt(0).toUpperCase()}${type.slice(1)}.`;
  return table(
    ['Name', 'Type', 'Required', 'Meaning'],
    properties.map(([name, property]) => [
      `\`${name}\``,
      typeOf(property),
      schema.required?.includes(name) ? 'yes' : 'no',
      property.description ?? '',
    ]),
  );
}

/** Returns the type of a schema in a few words. A named schema becomes a link. */
export function typeOf(schema: Schema): string {
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (schema.$ref !== undefined) {
    const name = schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1);
    return `[${name}](#${name.toLowerCase()})`;
  }
  if (alternatives !== undefined) return alternatives.map(typeOf).join(' or ');
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum !== undefined) {
    return schema.enum.map((value) => `\`${JSON.stringify(value)}\``).join(' or ');
  }
  if (schema.items !== undefined) return `list of ${schema.items.title ?? typeOf(schema.items)}`;
  const type = [schema.type ?? 'any'].flat().join(' or ');
  const most = schema.maxLength === undefined ? '' : `, at most ${schema.maxLength} characters`;
  return `${type}${schema.format === undefined ? '' : ` (${schema.format})`}${most}`;
}

/** Returns a table in Markdown. */
export function table(head: string[], rows: string[][]): string {
  const cell = (text: string) => text.replaceAll('|', '\\|').replace(/\s+/g, ' ').trim();
  const line = (cells: string[]) => `| ${cells.map(cell).join(' | ')} |`;
  return [line(head), `|${head.map(() => '---|').join('')}`, ...rows.map(line)].join('\n');
}
