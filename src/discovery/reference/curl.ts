/** A call of the OpenAPI document as a command to paste, with the credential in `TOKEN`. */
import type { Operation } from './openapi-document.ts';

/** Takes a method, the address with `{names}` of parameters, the operation and an example body; returns the command. */
export function curlOf(
  method: string,
  address: string,
  operation: Operation,
  body: unknown,
): string {
  const { parameters = [], security } = operation;
  const url = parameters
    .filter((parameter) => parameter.in === 'path')
    .reduce((path, { name, example = '' }) => path.replace(`{${name}}`, example), address);
  const headers = parameters
    .filter((parameter) => parameter.in === 'header' && parameter.required)
    .map(({ name, example }) => quoted(`${name}: ${example}`));
  // A body makes it a POST, and what is neither has to say so.
  const isPlain = method === (body === undefined ? 'GET' : 'POST');
  return [
    `curl -sS${isPlain ? '' : ` -X ${method}`} ${quoted(url)}`,
    // Double quotes: the shell puts the credential there.
    ...(security.length === 0 ? [] : ['-H "Authorization: Bearer $TOKEN"']),
    ...headers.map((header) => `-H ${header}`),
    ...(body === undefined
      ? []
      : [`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(body, null, 2))}`]),
  ].join(' \\\n  ');
}

/** As one word of the shell; what needs no quotes has none. */
function quoted(text: string): string {
  return /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
