/**
 * The plain call of a preview in 2026-07-28, which is most of what is ever called: the library takes 200 µs for it,
 * five times what the chain takes. It is told by its shape and its headers, and by what the client says of itself:
 * that was in a message before, which the library took. Whatever is not plain in every respect is the library's.
 */
import { MCP_REVISIONS } from '../discovery/mcp-server.ts';
import type { McpMessage } from './answers.ts';

const [REVISION] = MCP_REVISIONS;
const METHOD = 'tools/call';

/** So many clients are known at a time, with so many characters about each. */
const CLIENTS_MAXIMUM = 100;
const CLIENT_MAXIMUM_LENGTH = 2_000;

export type PlainCall = {
  id: string | number;
  name: string;
  arguments: Record<string, unknown>;
  /** What the client says of itself, as JSON. */
  client: string;
};

/** Takes the names of the tools; returns the call in a message where that is plain. */
export function plainCallReader(
  names: ReadonlySet<string>,
): (message: Pick<McpMessage, 'body' | 'headers'>) => PlainCall | undefined {
  return ({ body, headers }) => {
    const { jsonrpc, id, method, params, ...rest } = body;
    if (jsonrpc !== '2.0' || method !== METHOD || !isPlainId(id) || !isObject(params))
      return undefined;
    const { name, arguments: input, _meta, ...more } = params;
    if (typeof name !== 'string' || !names.has(name) || !isObject(input) || !isObject(_meta)) {
      return undefined;
    }
    if (!isEmpty(rest) || !isEmpty(more)) return undefined;
    const isSaid =
      headers['mcp-protocol-version'] === REVISION &&
      headers['mcp-method'] === METHOD &&
      headers['mcp-name'] === name;
    const client = JSON.stringify(_meta);
    if (!isSaid || client.length > CLIENT_MAXIMUM_LENGTH) return undefined;
    return { id, name, arguments: input, client };
  };
}

/** The clients whose words about themselves the library has taken; when there are too many, all are forgotten. */
export function openKnownClients() {
  const known = new Set<string>();
  return {
    has: ({ client }: PlainCall) => known.has(client),
    add({ client }: PlainCall) {
      if (known.size >= CLIENTS_MAXIMUM) known.clear();
      known.add(client);
    },
  };
}

function isPlainId(id: unknown): id is string | number {
  return typeof id === 'string' || Number.isSafeInteger(id);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isEmpty(value: object): boolean {
  return Object.keys(value).length === 0;
}
