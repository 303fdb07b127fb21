/** Answers what Node could not parse as a request: headers too large or too slow, broken lines and bodies. */
import type { Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { newId } from '../chance.ts';
import type { Settings } from '../settings.ts';
import { operatorOf, renderErrorPage } from '../site/error-page.ts';
import type { Frame } from '../site/layout.ts';
import { isForm, wantsPage } from './page-or-json.ts';
import { renderProblem } from './render-problem.ts';

// An import from `node:http` would load all of Node's `fetch` with it: a tenth of a cold start.
const { STATUS_CODES } = process.getBuiltinModule('node:http');

type AnswerBroken = (error: NodeJS.ErrnoException, socket: Duplex) => void;

/** The answer that each connection got last: one to a broken request must not overtake it. */
const lastAnswers = new WeakMap<Duplex, ServerResponse>();

/** Takes the server; remembers its answers, and refuses tunnels, which Node would cut without a word. */
export function watchConnections(server: Server, answerBroken: AnswerBroken): void {
  server.on('request', (request, response) => lastAnswers.set(request.socket, response));
  server.on('connect', (_request, socket) => answerBroken(new Error('A tunnel.'), socket));
}

/** Takes what an error page shows and the headers of every answer; returns what answers. */
export function brokenRequestAnswerer(
  operator: Settings['operator'],
  frame: Frame,
  sameOnEvery: Record<string, string>,
): AnswerBroken {
  return function answerBroken(error, socket) {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const last = lastAnswers.get(socket);
    if (last !== undefined && !last.writableFinished && last.req.complete) {
      last.once('close', () => answerBroken(error, socket));
      return;
    }
    if (last?.headersSent && !last.req.complete) {
      // Its head was answered already: a second answer would be taken for another request's.
      socket.destroy();
      return;
    }
    const { status, body } = renderProblem({ kind: kindOf(error) }, 'json');
    // A form whose head was read and whose body broke off is answered as its route would (spec §7).
    const asked = last !== undefined && !last.req.complete ? last.req : undefined;
    const asPage = asked !== undefined && isForm(asked) && wantsPage(asked);
    const page = { status, sentence: body.error, typed: true, ...operatorOf(operator) };
    const content = asPage ? renderErrorPage(page, frame) : JSON.stringify(body);
    const headers = {
      ...sameOnEvery,
      'content-type': `${asPage ? 'text/html' : 'application/json'}; charset=utf-8`,
      'content-length': Buffer.byteLength(content),
      'cache-control': 'no-store',
      'x-request-id': newId(),
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
