import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { cert, key } from './certificate.ts';

type Answer = (request: Http2ServerRequest, response: Http2ServerResponse) => void;

/** Starts a receiver with HTTP/1.1 and, if the client offers it, HTTP/2. `spoken` lists the version of each request. */
export async function startTlsReceiver(answer: Answer = (_request, response) => response.end()) {
  const spoken: string[] = [];
  const server = createSecureServer({ cert, key, allowHTTP1: true }, (request, response) => {
    spoken.push(request.httpVersion);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `https://localhost:${port}/`, spoken, close: () => void server.close() };
}
