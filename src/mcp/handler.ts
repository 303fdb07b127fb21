/**
 * The tools over the Model Context Protocol (reference §8.1). A library implements the protocol, and there are no
 * sessions. The first call loads this module, because the library takes 34 MB and a fifth of a second.
 */
import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  createMcpHandler,
  type InputRequiredResult,
  inputRequired,
  type JsonSchemaValidator,
  type jsonSchemaValidator,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { type Facts, MCP_REVISIONS, mcpServer } from '../discovery/deployment.ts';
import { renderForTool } from '../failures/render.ts';
import type { Log } from '../platform/log.ts';
import type { NewId } from '../platform/random.ts';
import { StorageUnavailable } from '../storage/database.ts';
import {
  type AgentCall,
  type CallOfRequest,
  type McpMessage,
  refused,
  type ToolAnswer,
  type Toolset,
} from './answers.ts';
import {
  APP_TYPE,
  APPS_EXTENSION,
  CARD_URI,
  declaresApps,
  isSessionWithApps,
  SESSION_HEADER,
  sessionFor,
} from './apps.ts';
import { argumentReader, withoutNullParams } from './arguments.ts';
import { QUESTION } from './elicitation.ts';
import { isForCardAlone } from './tools.ts';

/** The library would keep a stream open for this method, although the tools never change while the service runs. */
const LISTEN = 'subscriptions/listen';

const UNCHANGED_FOR_MS = 300_000;

/** The card as a resource. It needs no server, and the host draws its border. */
const CARD = {
  uri: CARD_URI,
  name: 'preview',
  title: 'Preview with buttons',
  description: 'Shows the user what would be sent. The user sends it, declines, or opens the confirmation page.',
  mimeType: APP_TYPE,
  _meta: { ui: { csp: { connectDomains: [], resourceDomains: [] }, prefersBorder: true } },
};

/** The handlers validate arguments in their own order. The library's validator would come first. */
const NO_VALIDATION: jsonSchemaValidator = {
  getValidator:
    <T>(): JsonSchemaValidator<T> =>
    (input) => ({ valid: true, data: input as T, errorMessage: undefined }),
};

export type McpParts = { facts: Facts; log: Log; newId: NewId };

/** Returns the function that answers one message to the endpoint of these tools. */
export function openMcp(
  { facts, log, newId }: McpParts,
  { instructions, functions, definitions: tools, card }: Toolset,
): (message: McpMessage) => Promise<Response> {
  const readers = new Map(tools.map(({ name, inputSchema }) => [name, argumentReader(inputSchema)]));
  const withoutCard = tools.filter((tool) => !isForCardAlone(tool));
  const cached = { ttlMs: UNCHANGED_FOR_MS, cacheScope: 'private' } as const;

  const run = async (name: string, call: AgentCall): Promise<ToolAnswer> => {
    const [tool, read] = [functions.get(name), readers.get(name)];
    if (tool === undefined || read === undefined) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is no such tool; tools/list has them.');
    }
    try {
      return await tool({ ...call, arguments: read(call.arguments) });
    } catch (error) {
      // A tool's failure is its result. JSON-RPC errors are for faults of the protocol.
      const unavailable = error instanceof StorageUnavailable;
      log.error({ err: error }, unavailable ? 'the store is unavailable' : 'unexpected error in a tool');
      return refused({ kind: unavailable ? 'storeUnavailable' : 'internal' });
    }
  };

  const serve = (of: CallOfRequest, hasSessionWithApps: boolean) => {
    const declared = (context: ServerContext) => declaredBy(context, hasSessionWithApps);
    const server = new Server(mcpServer(facts), {
      capabilities: { tools: {}, ...(card && { resources: {}, extensions: { [APPS_EXTENSION]: {} } }) },
      instructions,
      supportedProtocolVersions: [...MCP_REVISIONS],
      jsonSchemaValidator: NO_VALIDATION,
      cacheHints: {
        'tools/list': cached,
        'server/discover': cached,
        'resources/list': cached,
        'resources/templates/list': cached,
        'resources/read': cached,
      },
    });
    server.setRequestHandler('tools/list', (_request, context) => ({
      tools: [...(declared(context).canShowCard ? tools : withoutCard)],
    }));
    server.setRequestHandler('tools/call', async ({ params }, context) =>
      render(await run(params.name, { ...of, ...declared(context), arguments: params.arguments ?? {} })),
    );
    if (card !== undefined) {
      server.setRequestHandler('resources/list', () => ({ resources: [CARD] }));
      server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [] }));
      server.setRequestHandler('resources/read', ({ params: { uri } }) => {
        if (uri !== CARD_URI)
          throw new ResourceNotFoundError(uri, 'There is no such resource; resources/list has them.');
        return { contents: [{ uri, mimeType: APP_TYPE, text: card(), _meta: CARD._meta }] };
      });
    }
    return server;
  };

  const handler = createMcpHandler(({ authInfo }) =>
    serve(authInfo?.extra?.call as CallOfRequest, authInfo?.extra?.hasSessionWithApps === true),
  );

  return async ({ body: sent, headers: { [SESSION_HEADER]: session, ...headers }, call }) => {
    const body = withoutNullParams(sent);
    const { id } = body;
    if (body.method === LISTEN && (typeof id === 'string' || typeof id === 'number')) {
      const error = { code: ProtocolErrorCode.MethodNotFound, message: 'Method not found' };
      return Response.json({ jsonrpc: '2.0', id, error }, { status: 404 });
    }
    // The library does not check this token. The library passes `extra` on to `serve`.
    const authInfo = {
      token: '',
      clientId: '',
      scopes: [],
      extra: { call, hasSessionWithApps: isSessionWithApps(session) },
    };
    // Any content type and any `Accept` is valid, so the library gets the values that it requires (reference §8.1 rule
    // 6).
    const request = new Request('http://localhost', {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    });
    const response = await handler.fetch(request, { authInfo, parsedBody: body });
    const newSession = card && sessionFor(body, newId);
    if (newSession !== undefined && response.ok) response.headers.set(SESSION_HEADER, newSession);
    return response;
  };
}

/** Returns the client's declared support for forms and the card, and its answer to a form. Forms came with 2026-07-28. */
function declaredBy(
  { mcpReq }: ServerContext,
  hasSessionWithApps: boolean,
): Pick<AgentCall, 'canShowForms' | 'canShowCard' | 'question'> {
  const envelope: Record<string, unknown> = mcpReq.envelope ?? {};
  const capabilities = envelope[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined;
  const forms = capabilities?.elicitation;
  return {
    canShowForms: forms !== undefined && (forms.form !== undefined || Object.keys(forms).length === 0),
    canShowCard: hasSessionWithApps || declaresApps(capabilities),
    question: { state: mcpReq.requestState(), responses: mcpReq.inputResponses },
  };
}

function render(answer: ToolAnswer) {
  switch (answer.kind) {
    case 'done':
      return {
        ...text(`${answer.sentence}\n${JSON.stringify(answer.body)}`),
        structuredContent: answer.body,
        ...metaOf(answer),
      };
    case 'refused':
      return { ...text(renderForTool(answer.refusal)), isError: true, ...metaOf(answer) };
    case 'asks':
      return inputRequired({
        inputRequests: { [QUESTION]: inputRequired.elicit(answer.question) },
        requestState: answer.state,
      }) satisfies InputRequiredResult;
    case 'wrongState':
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'This requestState is not for this call.');
  }
}

function metaOf({ meta }: { meta?: Record<string, string> }) {
  return meta && { _meta: meta };
}

function text(words: string) {
  return { content: [{ type: 'text' as const, text: words }] };
}
