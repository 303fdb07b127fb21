/**
 * The tools over the Model Context Protocol (beyond §3): what is of the protocol is the library's, and no
 * session is kept. Loaded for the first who calls: it is 34 MB and a fifth of a second.
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
  SERVER_INFO_META_KEY,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { MCP_REVISIONS, mcpServer } from '../discovery/mcp-server.ts';
import { renderForTool } from '../failures/render.ts';
import { StorageUnavailable } from '../storage/database.ts';
import {
  type AgentCall,
  type CallOfRequest,
  type McpMessage,
  refused,
  type ToolAnswer,
} from './answers.ts';
import { type ToolParts, toolsByName } from './calls.ts';
import { openKnownClients, type PlainCall, plainCallReader } from './plain-calls.ts';
import { QUESTION } from './question.ts';
import { INSTRUCTIONS, SUBMIT, toolDefinitions } from './tools.ts';

/** Nothing that is served ever changes while it runs: the library would keep a stream open for that. */
const LISTEN = 'subscriptions/listen';

/** Of a plain call. */
const ASKED_BY_NOBODY = {
  canShowForms: false,
  question: { state: undefined, responses: undefined },
};

/** The tools change with the service alone. */
const UNCHANGED_FOR_MS = 300_000;

/** The chains look at arguments themselves, in their order: the library's own validator would come first. */
const NO_VALIDATION: jsonSchemaValidator = {
  getValidator<T>(): JsonSchemaValidator<T> {
    return (input) => ({ valid: true, data: input as T, errorMessage: undefined });
  },
};

/** Takes the parts of the chains; returns what answers one message: a text is JSON, with status 200. */
export function openMcp(parts: ToolParts): (message: McpMessage) => Promise<Response | string> {
  const { facts, log } = parts;
  const definitions = { tools: toolDefinitions(facts) };
  const tools = toolsByName(facts);
  const cached = { ttlMs: UNCHANGED_FOR_MS, cacheScope: 'private' } as const;

  const run = async (name: string, call: AgentCall): Promise<ToolAnswer> => {
    const tool = tools.get(name);
    if (tool === undefined) {
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        'There is no such tool; tools/list has them.',
      );
    }
    try {
      return await tool(parts, call);
    } catch (error) {
      // What a tool can't do is its result; only the protocol's own faults are errors of JSON-RPC.
      const away = error instanceof StorageUnavailable;
      log.error({ err: error }, away ? 'the store is unavailable' : 'unexpected error in a tool');
      return refused({ kind: away ? 'storeUnavailable' : 'internal' });
    }
  };

  const serve = (of: CallOfRequest) => {
    const server = new Server(mcpServer(facts), {
      capabilities: { tools: {} },
      instructions: INSTRUCTIONS,
      supportedProtocolVersions: [...MCP_REVISIONS],
      jsonSchemaValidator: NO_VALIDATION,
      cacheHints: { 'tools/list': cached, 'server/discover': cached },
    });
    server.setRequestHandler('tools/list', () => definitions);
    server.setRequestHandler('tools/call', async ({ params }, context) =>
      render(
        await run(params.name, { ...of, ...askedBy(context), arguments: params.arguments ?? {} }),
      ),
    );
    return server;
  };

  const handler = createMcpHandler(({ authInfo }) => serve(authInfo?.extra?.call as CallOfRequest));

  // Whoever sends asks the person first, where that is possible: never without the library.
  const names = definitions.tools.map(({ name }) => name).filter((name) => name !== SUBMIT);
  const plainCallIn = plainCallReader(new Set(names));
  const clients = openKnownClients();
  const identity = { [SERVER_INFO_META_KEY]: mcpServer(facts) };

  const answerPlain = async ({ id, name, arguments: input }: PlainCall, call: CallOfRequest) => {
    const answer = await run(name, { ...call, ...ASKED_BY_NOBODY, arguments: input });
    const result = { ...render(answer), resultType: 'complete', _meta: identity };
    return JSON.stringify({ result, jsonrpc: '2.0', id });
  };

  return async ({ body, headers, call }) => {
    if (body.method === LISTEN && isId(body.id)) return methodNotFound(body.id);
    const plain = plainCallIn({ body, headers });
    if (plain !== undefined && clients.has(plain)) return await answerPlain(plain, call);
    // The library checks no token: this is how it hands something on to who serves the request.
    const authInfo = { token: '', clientId: '', scopes: [], extra: { call } };
    const response = await handler.fetch(requestWith(headers), { authInfo, parsedBody: body });
    if (plain === undefined || response.status !== 200) return response;
    const text = await response.text();
    if (text.startsWith('{"result"')) clients.add(plain);
    return text;
  };
}

function isId(id: unknown): id is string | number {
  return typeof id === 'string' || typeof id === 'number';
}

function methodNotFound(id: string | number): Response {
  const error = { code: ProtocolErrorCode.MethodNotFound, message: 'Method not found' };
  return Response.json({ jsonrpc: '2.0', id, error }, { status: 404 });
}

/** Any content type and any `Accept` is taken: the library sees the ones it asks for (beyond §3). */
function requestWith(headers: Record<string, string>): Request {
  return new Request('http://localhost', {
    method: 'POST',
    headers: {
      ...headers,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
  });
}

/** What a client of 2026-07-28 says of itself with each request; before it there is no way back to the person. */
function askedBy({ mcpReq }: ServerContext): Pick<AgentCall, 'canShowForms' | 'question'> {
  const envelope: Record<string, unknown> = mcpReq.envelope ?? {};
  const capabilities = envelope[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined;
  const forms = capabilities?.elicitation;
  return {
    canShowForms:
      forms !== undefined && (forms.form !== undefined || Object.keys(forms).length === 0),
    question: { state: mcpReq.requestState(), responses: mcpReq.inputResponses },
  };
}

function render(answer: ToolAnswer) {
  switch (answer.kind) {
    case 'done':
      return {
        content: [text(`${answer.sentence}\n${JSON.stringify(answer.body)}`)],
        structuredContent: answer.body,
      };
    case 'refused':
      return { content: [text(renderForTool(answer.refusal))], isError: true };
    case 'asks':
      return inputRequired({
        inputRequests: { [QUESTION]: inputRequired.elicit(answer.question) },
        requestState: answer.state,
      }) satisfies InputRequiredResult;
    case 'wrongState':
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        'This requestState is not for this call.',
      );
  }
}

function text(words: string) {
  return { type: 'text' as const, text: words };
}
