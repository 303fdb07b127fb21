/** Writes calls as commands to paste, and their bodies as code blocks. */
import type { Operation } from './schemas.ts';

/** Makes curl print a line break after the answer, so that the prompt of a shell begins on a line of its own. */
export const NEW_LINE = "-w '\\n'";

/** Returns a code block with a value as JSON. */
export function fence(info: string, value: unknown): string {
  return `\`\`\`${info}\n${JSON.stringify(value, null, 2)}\n\`\`\``;
}

/** Returns a call as a command to paste, with the credential in `TOKEN`. The address has the `{names}` of parameters. */
export function curlOf(method: string, address: string, operation: Operation, body: unknown): string {
  const { parameters = [], security } = operation;
  const url = parameters
    .filter((parameter) => parameter.in === 'path')
    .reduce((path, { name, example = '' }) => path.replace(`{${name}}`, example), address);
  const headers = parameters
    .filter((parameter) => parameter.in === 'header' && parameter.required)
    .map(({ name, example }) => `-H ${quoted(`${name}: ${example}`)}`);
  // curl sends a GET without a body and a POST with a body. Any other method needs -X.
  const isPlain = method === (body === undefined ? 'GET' : 'POST');
  return [
    `curl -sS ${NEW_LINE}${isPlain ? '' : ` -X ${method}`} ${quoted(url)}`,
    // The header is in double quotes, so that the shell inserts the credential.
    ...(security.length === 0 ? [] : ['-H "Authorization: Bearer $TOKEN"']),
    ...headers,
    ...(body === undefined
      ? []
      : ["-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(body, null, 2))}`]),
  ].join(' \\\n  ');
}

/** Returns a text as one word of the shell, with quotes only if the text needs them. */
function quoted(text: string): string {
  return /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
