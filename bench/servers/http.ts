/** The HTTP part of a bare server: body, headers, request id and log line. */
import { randomUUID } from 'node:crypto';
import { writeSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { hasDuties } from './duties.ts';

export type Answer = { status: number; headers: Record<string, string>; body: string | Buffer };

/** Headers and body of the service's answer to the same request. The body is Base64. */
export type Sample = { headers: Record<string, string>; body: string };

export type Handle = (request: IncomingMessage, body: Buffer) => Answer | Promise<Answer>;

const NOTHING = Buffer.alloc(0);

/** Listens on `PORT`. Calls `handle` once the body of a request is complete. */
export function serve(handle: Handle): void {
  const server = createServer((request, response) => {
    const startedAt = performance.now();
    const answer = async (body: Buffer) => {
      const { status, headers, body: answered } = await handle(request, body);
      const length = Buffer.byteLength(answered);
      if (!hasDuties) {
        response.writeHead(status, { ...headers, 'content-length': length }).end(answered);
        return;
      }
      const id = randomUUID();
      response.writeHead(status, { ...headers, 'x-request-id': id, 'content-length': length });
      response.end(answered);
      const ms = Math.round((performance.now() - startedAt) * 10) / 10;
      log({ requestId: id, method: request.method, route: request.url, status, ms });
    };
    if (request.url === '/healthz') {
      response.end('ok');
      return;
    }
    if (request.method === 'GET') {
      answer(NOTHING);
      return;
    }
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => answer(Buffer.concat(chunks)));
  });
  server.listen(Number(process.env.PORT), '127.0.0.1');
}

/** Writes one JSON line straight to standard output, as the service does. */
export function log(entry: object): void {
  if (process.env.LOG_LEVEL !== 'info' || !hasDuties) return;
  writeSync(1, `${JSON.stringify({ level: 'info', time: new Date().toISOString(), ...entry, msg: 'request' })}\n`);
}
