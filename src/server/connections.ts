/**
 * Limits the unread answers and the waiting requests of a connection (reference §3.5), because Node.js does not. Also
 * answers requests that Node.js can't parse: headers that are too large or too slow, broken lines and bodies.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { PROBLEM_TYPE, problemDetails, type RenderedProblem, renderProblem } from '../failures/render.ts';
import { type Clock, every } from '../platform/clock.ts';
import { openInFlight } from '../platform/in-flight.ts';
import type { Log } from '../platform/log.ts';
import { newId } from '../platform/random.ts';
import {
  hasProblemDetails,
  isFormPath,
  pathOf,
  type RenderProblemPage,
  wantsPage,
  wantsProblemDetails,
} from './page-or-json.ts';

/** Time in which a client must read a part of the answer. */
const UNREAD_MS = 30_000;
const SWEEP_MS = 1_000;

const WAITING_MAXIMUM = 32;

/** A request with a valid head. */
type TrackedRequest = {
  id: string;
  response: ServerResponse;
  /** Status of the answer to a body that broke off. */
  brokenStatus?: number;
};

type Connection = {
  socket: Socket;
  /** Number of accepted requests whose answers are not sent yet. */
  waiting: number;
  /** The last accepted request. An answer to a broken request must not overtake its answer. */
  last?: TrackedRequest;
  /**
   * Number of bytes sent until the last sweep (`at`), and the time since which it has not changed (`since`). Undefined
   * if no bytes wait to be sent.
   */
  stuck?: { at: number; since: number } | undefined;
};

export type Connections = {
  /**
   * Tracks a request. The caller calls `end` once the response has closed. Returns undefined if too many earlier
   * requests wait. Then the request must not be answered, and its connection is about to end.
   */
  trackRequest(response: ServerResponse, id: string): { request: TrackedRequest; end(): void } | undefined;
  /** Returns the last accepted request of this connection. */
  lastOf(socket: Duplex): TrackedRequest | undefined;
};

/** Tracks connections. One sweep a second checks all connections, so that no connection needs a timer. */
export function openConnections(clock: Clock): Connections {
  const open = openInFlight<Connection>();
  const bySocket = new WeakMap<Duplex, Connection>();
  let stopSweeps: (() => void) | undefined;

  const sweep = () => {
    const now = clock.monotonic();
    const connections = open.all();
    for (const connection of connections) closeIfUnread(connection, now);
    if (connections.length > 0) return;
    stopSweeps?.();
    stopSweeps = undefined;
  };

  const connectionOf = (socket: Socket): Connection => {
    const existing = bySocket.get(socket);
    if (existing !== undefined) return existing;
    const connection: Connection = { socket, waiting: 0 };
    bySocket.set(socket, connection);
    socket.once('close', open.add(connection));
    stopSweeps ??= every(clock, SWEEP_MS, sweep);
    return connection;
  };

  return {
    trackRequest(response, id) {
      const { socket } = response.req;
      const connection = connectionOf(socket);
      connection.waiting += 1;
      if (connection.waiting <= WAITING_MAXIMUM) {
        // Later requests get no answer. RFC 9112 §9.3.2 lets the client repeat them elsewhere.
        if (connection.waiting === WAITING_MAXIMUM) response.shouldKeepAlive = false;
        const request = { id, response };
        connection.last = request;
        const end = () => {
          connection.waiting -= 1;
        };
        return { request, end };
      }
      // Earlier answers may still be sent. Node.js stores the requests that it reads meanwhile, so their number is
      // limited.
      socket.pause();
      if (connection.waiting > 2 * WAITING_MAXIMUM) socket.destroy();
      return undefined;
    },
    lastOf: (socket) => bySocket.get(socket)?.last,
  };
}

/** Ends a connection whose client has read nothing for `UNREAD_MS`. */
function closeIfUnread(connection: Connection, now: number): void {
  const { socket, stuck } = connection;
  if (socket.writableLength === 0) {
    connection.stuck = undefined;
    return;
  }
  // A write counts once all of it is sent. Node.js has no public counter for a part of a write.
  const at = socket.bytesWritten - socket.writableLength;
  if (stuck?.at !== at) connection.stuck = { at, since: now };
  else if (now - stuck.since >= UNREAD_MS) socket.destroy();
}

type AnswerBroken = (error: NodeJS.ErrnoException, socket: Duplex) => void;

/** Answers requests for a tunnel with a refusal. Node.js would close the connection without an answer. */
export function refuseTunnels(server: Server, answerBroken: AnswerBroken): void {
  server.on('connect', (_request, socket) => {
    // Node.js leaves errors and the end of a tunnel's connection to the listener of `connect`.
    socket.on('error', () => socket.destroy());
    socket.once('finish', () => socket.destroy());
    answerBroken(new Error('A tunnel.'), socket);
  });
}

/** Returns the function that answers a broken request. `sameOnEvery` has the headers of every answer. */
export function brokenRequestAnswerer(parts: {
  connections: Connections;
  renderProblemPage: RenderProblemPage;
  log: Log;
  sameOnEvery: Record<string, string>;
  baseUrl: string;
}): AnswerBroken {
  const { connections, renderProblemPage, log, sameOnEvery, baseUrl } = parts;

  const contentOf = (rendered: RenderedProblem, request: IncomingMessage | undefined, requestId: string) => {
    const { status, body } = rendered;
    if (request !== undefined && isFormPath(pathOf(request.url)) && wantsPage(request)) {
      return { type: 'text/html', content: renderProblemPage({ status, sentence: body.error, typed: true }) };
    }
    if (request === undefined || !wantsProblemDetails(request)) {
      return { type: 'application/json', content: JSON.stringify(body) };
    }
    return { type: PROBLEM_TYPE, content: JSON.stringify(problemDetails(rendered, { baseUrl, requestId })) };
  };

  return function answerBroken(error, socket) {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const last = connections.lastOf(socket);
    const response = last?.response;
    if (response !== undefined && !response.writableFinished && response.req.complete) {
      response.once('close', () => answerBroken(error, socket));
      return;
    }
    if (response?.headersSent && !response.req.complete) {
      // The client would take a second answer for the answer to another request.
      socket.destroy();
      return;
    }
    const kind = kindOf(error);
    const rendered = renderProblem({ kind }, 'json');
    const { status } = rendered;
    // If the body of a request broke off, the client gets the answer of its route (reference §3.5).
    const unfinished = response?.req.complete === false ? last : undefined;
    const request = unfinished?.response.req;
    const requestId = unfinished?.id ?? newId();
    if (unfinished !== undefined) unfinished.brokenStatus = status;
    else log.info({ requestId, status }, 'invalid request refused');
    const { type, content } = contentOf(rendered, request, requestId);
    const headers = {
      ...sameOnEvery,
      ...(request !== undefined && hasProblemDetails(pathOf(request.url)) && { vary: 'Accept' }),
      'content-type': `${type}; charset=utf-8`,
      'content-length': Buffer.byteLength(content),
      'cache-control': 'no-store',
      'x-request-id': requestId,
      connection: 'close',
    };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 ${status} ${REASONS[kind]}\r\n${lines.join('')}\r\n${content}`);
  };
}

/** An import of `STATUS_CODES` would make each start load undici, which Node.js does for every import of `node:http`. */
const REASONS = {
  badRequest: 'Bad Request',
  requestTimeout: 'Request Timeout',
  headersTooLarge: 'Request Header Fields Too Large',
};

function kindOf({ code }: NodeJS.ErrnoException) {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'requestTimeout';
  return code === 'HPE_HEADER_OVERFLOW' ? 'headersTooLarge' : 'badRequest';
}
