/** Schemas of the OpenAPI document as Markdown: a table of properties, a type in a few words. */

/** As much of a schema as is shown. */
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

/** Takes a schema; returns its properties as a table, or its own kind where it has none. */
export function describeSchema(schema: Schema): string {
  const properties = Object.entries(schema.properties ?? {});
  if (properties.length === 0) return `${capital(typeOf(schema))}.`;
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

/** Takes a schema; returns its type in a few words, a named one as a link to where it stands. */
export function typeOf(schema: Schema): string {
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (schema.$ref !== undefined) return linkTo(schema.$ref);
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

/** Takes the cells of a table, the head first; returns it in Markdown. */
export function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.map(cell).join(' | ')} |`;
  return [line(head), `|${head.map(() => '---|').join('')}`, ...rows.map(line)].join('\n');
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replace(/\s+/g, ' ').trim();
}

function linkTo(reference: string): string {
  const name = reference.slice(reference.lastIndexOf('/') + 1);
  return `[${name}](#${name.toLowerCase()})`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
