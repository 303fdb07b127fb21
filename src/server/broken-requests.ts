/** Answers what Node could not parse as a request: headers too large or too slow, broken lines and bodies. */
import type { Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { newId } from '../chance.ts';
import { renderProblem } from '../failures/render.ts';
import type { Log } from '../operations/log.ts';
import { STATUS_CODES } from './node-http.ts';
import { isForm, type RenderProblemPage, wantsPage } from './page-or-json.ts';

type AnswerBroken = (error: NodeJS.ErrnoException, socket: Duplex) => void;

/** A request whose head could be read. */
export type Begun = {
  id: string;
  response: ServerResponse;
  /** What was answered where its body broke off. */
  brokenStatus?: number;
};

/** The last one of each connection: an answer to a broken one must not overtake its answer. */
const lastBegun = new WeakMap<Duplex, Begun>();

/** To be called as a request begins: if its body breaks off, the answer goes out under this id, and its status is put into what is returned. */
export function begin(response: ServerResponse, id: string): Begun {
  const begun = { id, response };
  lastBegun.set(response.req.socket, begun);
  return begun;
}

/** Takes the server; refuses tunnels, which Node would cut without a word. */
export function refuseTunnels(server: Server, answerBroken: AnswerBroken): void {
  server.on('connect', (_request, socket) => {
    // Node leaves such a connection to its listener, errors and end included.
    socket.on('error', () => socket.destroy());
    socket.once('finish', () => socket.destroy());
    answerBroken(new Error('A tunnel.'), socket);
  });
}

/** Takes what renders a page, the log and the headers of every answer; returns what answers. */
export function brokenRequestAnswerer(
  parts: { renderProblemPage: RenderProblemPage; log: Log },
  sameOnEvery: Record<string, string>,
): AnswerBroken {
  const { renderProblemPage, log } = parts;
  return function answerBroken(error, socket) {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const last = lastBegun.get(socket);
    const response = last?.response;
    if (response !== undefined && !response.writableFinished && response.req.complete) {
      response.once('close', () => answerBroken(error, socket));
      return;
    }
    if (response?.headersSent && !response.req.complete) {
      // Its head was answered already: a second answer would be taken for another request's.
      socket.destroy();
      return;
    }
    const { status, body } = renderProblem({ kind: kindOf(error) }, 'json');
    // A form whose head was read and whose body broke off is answered as its route would (spec §7).
    const unfinished = response?.req.complete === false ? last : undefined;
    const asked = unfinished?.response.req;
    const requestId = unfinished?.id ?? newId();
    if (unfinished !== undefined) unfinished.brokenStatus = status;
    else log.info({ requestId, status }, 'broken request');
    const asPage = asked !== undefined && isForm(asked) && wantsPage(asked);
    const content = asPage
      ? renderProblemPage({ status, sentence: body.error, typed: true })
      : JSON.stringify(body);
    const headers = {
      ...sameOnEvery,
      'content-type': `${asPage ? 'text/html' : 'application/json'}; charset=utf-8`,
      'content-length': Buffer.byteLength(content),
      'cache-control': 'no-store',
      'x-request-id': requestId,
      connection: 'close',
    };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${content}`);
  };
}

function kindOf({ code }: NodeJS.ErrnoException) {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'requestTimeout';
  return code === 'HPE_HEADER_OVERFLOW' ? 'headersTooLarge' : 'badRequest';
}
