import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Delivered = {
  headers: IncomingMessage['headers'];
  body: string;
  event: { type: string; timestamp: string; data: Record<string, unknown> };
};

export type ProgrammableUpstream = {
  url: string;
  delivered: Delivered[];
  /** Answers the next requests (default: status 200). */
  answer: (response: ServerResponse, delivered: Delivered) => void;
  close(): Promise<void>;
};

/** Starts an HTTP server that records its requests. The test sets the answers. */
export async function startUpstream(): Promise<ProgrammableUpstream> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      const delivered = { headers: request.headers, body, event: JSON.parse(body) };
      upstream.delivered.push(delivered);
      upstream.answer(response, delivered);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const upstream: ProgrammableUpstream = {
    url: `http://127.0.0.1:${port}/hook?source=service`,
    delivered: [],
    answer: (response) => response.writeHead(200).end(),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return upstream;
}

/** Returns a function that answers every request with this status and these headers. */
export function answering(status: number, headers: Record<string, string> = {}) {
  return (response: ServerResponse) => response.writeHead(status, headers).end('{"secret":"body"}');
}
