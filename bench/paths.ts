/** What is measured: the requests of each path, its bare server, and the goal that was set for it. */
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { CONFIRMATION_STATEMENT } from '../src/actions/confirmation-statement.ts';
import { sealPreview } from '../src/actions/preview-token.ts';
import { bounds } from '../src/forms/bounds.ts';
import { SERVICE } from './service.ts';
import { FIELDS, OPERATOR, SIGNING_KEY, TOKEN } from './settings.ts';

export type Path = {
  name: string;
  /** What serves the same: a bare server of `servers/floor.ts`, or a framework's file. */
  against: 'floor' | 'one commit each' | 'Fastify' | 'Express' | 'Hono' | 'itself over HTTP';
  argv: readonly string[];
  /** The least ratio of requests in a second that is wanted; undefined where none was set. */
  goal?: number;
  connections: number;
  status: number;
  logLevel: 'info' | 'warn';
  /** Also in a quick run. */
  quick: boolean;
  /** Also measured at half of the peak. */
  paced: boolean;
  /** Returns what makes the requests to one server. */
  requests(): () => string;
  /** The same for the other server, where that is asked in another way. */
  otherRequests?(): () => string;
};

/** Each series of requests has a network of its own. */
let networks = 10;

const DEFAULTS = {
  against: 'floor',
  connections: 32,
  status: 200,
  logLevel: 'info',
  quick: false,
  paced: false,
} as const;

/** What Chromium accepts when a person follows a link. */
const BROWSER =
  'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7';

const PREVIEW = '/api/agent/actions/contact/preview';
const floor = (name: string) => [fileURLToPath(import.meta.resolve('./servers/floor.ts')), name];

const IN_FLIGHT = [1, 8, 32, 128];

const preview = {
  ...DEFAULTS,
  requests: () => {
    const body = JSON.stringify(FIELDS);
    const address = addresses(bounds.rates.preview.limit);
    return () => post(PREVIEW, 'application/json', body, address(), BEARER);
  },
};

/** In the order of the table. */
export const paths: readonly Path[] = [
  { ...document('manifest', '/api/agent/manifest', 'application/json'), goal: 0.85 },
  { ...document('a page', '/quote', BROWSER), goal: 0.85 },
  {
    ...preview,
    name: 'preview',
    argv: floor('preview'),
    goal: 0.77,
    quick: true,
    paced: true,
  },
  { ...preview, name: 'preview, no log lines', argv: floor('preview'), logLevel: 'warn' },
  {
    ...preview,
    name: 'preview',
    against: 'Fastify',
    argv: [fileURLToPath(import.meta.resolve('./servers/fastify.js'))],
    goal: 1,
  },
  {
    ...preview,
    name: 'preview',
    against: 'Express',
    // Neither it nor Hono writes a line for a request.
    logLevel: 'warn',
    argv: [fileURLToPath(import.meta.resolve('./servers/express.js'))],
    goal: 1.35,
  },
  {
    ...preview,
    name: 'preview',
    against: 'Hono',
    logLevel: 'warn',
    argv: [fileURLToPath(import.meta.resolve('./servers/hono.js'))],
  },
  {
    ...preview,
    name: 'preview by MCP',
    against: 'itself over HTTP',
    argv: SERVICE,
    goal: 0.6,
    requests: callsOfTool,
    otherRequests: preview.requests,
  },
  ...IN_FLIGHT.map((inFlight) => execute(inFlight)),
  ...IN_FLIGHT.map((inFlight) => againstOneCommitEach(execute(inFlight))),
  lead('JSON', 'application/json', JSON.stringify({ form: 'contact', ...FIELDS }), 200),
  lead(
    'urlencoded',
    'application/x-www-form-urlencoded',
    new URLSearchParams({ form: 'contact', ...FIELDS }).toString(),
    303,
  ),
];

/** The tool that previews, as a client of 2026-07-28 calls it. */
function callsOfTool(): () => string {
  const name = 'preview_contact';
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
  };
  const params = { name, arguments: FIELDS, _meta };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  const headers = `${BEARER}MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: ${name}\r\n`;
  const address = addresses(bounds.rates.preview.limit);
  return () => post('/mcp', 'application/json', body, address(), headers);
}

function document(name: string, path: string, accept: string): Path {
  const head = `GET ${path} HTTP/1.1\r\nHost: bench\r\nAccept: ${accept}\r\nAccept-Encoding: gzip, br\r\n`;
  return {
    ...DEFAULTS,
    name,
    argv: floor('document'),
    quick: true,
    paced: true,
    requests: () => {
      const address = addresses(1_000);
      return () => `${head}X-Forwarded-For: ${address()}\r\n\r\n`;
    },
  };
}

function execute(inFlight: number): Path {
  return {
    ...DEFAULTS,
    name: `execute, ${inFlight} in flight`,
    argv: floor('execute'),
    connections: inFlight,
    quick: inFlight === 32,
    paced: inFlight === 32,
    ...(inFlight === 32 ? { goal: 1 } : {}),
    requests: () => {
      const address = addresses(bounds.rates.execute.limit);
      return () => {
        const body = JSON.stringify({
          preview_id: sealPreview([SIGNING_KEY], {
            action: 'contact',
            fields: FIELDS,
            destination: OPERATOR,
            createdAt: Date.now(),
          }),
          confirmation: true,
          confirmation_text: CONFIRMATION_STATEMENT,
        });
        const headers = `${BEARER}Idempotency-Key: ${randomUUID()}\r\n`;
        const path = '/api/agent/actions/contact/execute';
        return post(path, 'application/json', body, address(), headers);
      };
    },
  };
}

/** The same floor, whose claims and settlements do not share commits. */
function againstOneCommitEach({ goal: _, ...path }: Path): Path {
  const argv = floor('executeEachAlone');
  return { ...path, against: 'one commit each', argv, quick: false, paced: false };
}

function lead(name: string, contentType: string, body: string, status: number): Path {
  return {
    ...DEFAULTS,
    name: `a lead, ${name}`,
    argv: floor('lead'),
    goal: 1,
    status,
    quick: true,
    paced: true,
    requests: () => {
      const address = addresses(bounds.rates.leads.limit);
      return () => post('/api/leads', contentType, body, address());
    },
  };
}

const BEARER = `Authorization: Bearer ${TOKEN}\r\n`;

function post(path: string, type: string, body: string, address: string, headers = ''): string {
  return (
    `POST ${path} HTTP/1.1\r\nHost: bench\r\nContent-Type: ${type}\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}\r\nX-Forwarded-For: ${address}\r\n${headers}\r\n${body}`
  );
}

/** A client's address for each request: the next one once this one has used its rate up. */
function addresses(requestsEach: number): () => string {
  const network = networks;
  networks += 1;
  let taken = 0;
  return () => {
    const number = Math.floor(taken / requestsEach);
    taken += 1;
    return `${network}.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
  };
}
