/**
 * Reads messages as models write them (reference §8.6). A value `null` counts as absent. A number becomes a text of its
 * digits if the schema requires text.
 */
import type { JsonSchema } from '../discovery/form-schemas.ts';
import { isObject } from '../http/request.ts';

type Values = Readonly<Record<string, unknown>>;

/** Returns the message without `params` or `arguments` that are null. */
export function withoutNullParams({ params, ...rest }: Record<string, unknown>): Record<string, unknown> {
  if (params === null || params === undefined) return rest;
  if (!isObject(params) || params.arguments !== null) return { ...rest, params };
  const { arguments: _null, ...others } = params;
  return { ...rest, params: others };
}

/** Returns the function that reads the arguments of a tool with this input schema. */
export function argumentReader({ properties }: JsonSchema): (values: Values) => Values {
  const isText = (name: string) => (properties as Record<string, JsonSchema>)[name]?.type === 'string';
  const read = (name: string, value: unknown) => (typeof value === 'number' && isText(name) ? digitsOf(value) : value);
  return (values) =>
    Object.fromEntries(
      Object.entries(values).flatMap(([name, value]) => (value === null ? [] : [[name, read(name, value)]])),
    );
}

/** Returns the digits of a number. A number beyond 2⁵³ has lost digits, so it stays a number and is refused later. */
function digitsOf(value: number): string | number {
  return Math.abs(value) <= Number.MAX_SAFE_INTEGER && !/e/.test(String(value)) ? String(value) : value;
}
