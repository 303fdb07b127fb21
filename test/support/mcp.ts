import { CONFIRMATION_STATEMENT } from '../../src/actions/preview.ts';
import { type Answer, call, quote } from './agent.ts';
import { formNames } from './forms.ts';
import { type Service, tokens } from './service.ts';

type Message = Record<string, unknown>;

type Options = {
  token?: string | null;
  headers?: Record<string, string | null>;
  /** Capabilities that the client declares. */
  capabilities?: object;
  /** Additional parameters of the message. */
  parameters?: object;
  raw?: string;
  /** Path of the endpoint (default: `/mcp`). */
  path?: string;
};

/** Names of the tools in their order, without the tool of the card (reference §8.5). */
export const toolNames = [
  ...formNames.map((name) => `preview_${name}`),
  ...['submit', 'request_confirmation', 'get_receipt'],
];

const REVISION = '2026-07-28';

/** Sends a message of revision 2026-07-28, written by hand from the specification without a library. */
export function send(
  service: Pick<Service, 'url'>,
  method: string,
  parameters: Message = {},
  options: Options = {},
): Promise<Answer> {
  const { token = tokens.both, capabilities = {} } = options;
  const name = parameters.name ?? parameters.uri;
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': REVISION,
    'io.modelcontextprotocol/clientCapabilities': capabilities,
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  };
  const headers: Record<string, string | null> = {
    'content-type': 'application/json',
    'mcp-protocol-version': REVISION,
    'mcp-method': method,
    'mcp-name': typeof name === 'string' ? name : null,
    authorization: token === null ? null : `Bearer ${token}`,
    ...options.headers,
  };
  return call(service, options.path ?? '/mcp', {
    headers: Object.fromEntries(Object.entries(headers).filter((each): each is [string, string] => each[1] !== null)),
    body:
      options.raw ??
      JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method,
        params: { _meta, ...parameters, ...options.parameters },
      }),
  });
}

/** Calls a tool and returns its result. */
export async function callTool(service: Pick<Service, 'url'>, name: string, input: object, options: Options = {}) {
  const { body } = await send(service, 'tools/call', { name, arguments: input }, options);
  return body.result ?? body.error;
}

/** Previews with a tool and returns the `preview_id`. */
export async function previewByTool(service: Pick<Service, 'url'>): Promise<string> {
  const { structuredContent } = await callTool(service, 'preview_homeowner_quote', quote);
  return structuredContent.preview_id;
}

/** Returns the arguments that a client without forms sends after the person's confirmation. */
export const confirmed = (previewId: string) => ({
  preview_id: previewId,
  confirmation: true,
  confirmation_text: CONFIRMATION_STATEMENT,
});

/** Capabilities of a client that can show a form. */
export const WITH_FORMS = { capabilities: { elicitation: { form: {} } } };

/** The protocol's extension MCP Apps. */
export const APPS = 'io.modelcontextprotocol/ui';

/** Capabilities of a client that can show the card of a preview. */
export const WITH_APPS = { capabilities: { extensions: { [APPS]: { mimeTypes: ['text/html;profile=mcp-app'] } } } };

/** Returns the parameters of the repeated call, with the response of the host's form. */
export function answering(state: string, response: object) {
  return {
    ...WITH_FORMS,
    parameters: { requestState: state, inputResponses: { confirmation: response } },
  };
}

/** Form response in which the person chose the confirmation statement. */
export const ACCEPTED = {
  action: 'accept',
  content: { confirmation_text: CONFIRMATION_STATEMENT },
};
