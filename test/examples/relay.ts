import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { freshAddress } from '../support/service.ts';

/** The point at which an execution's connection breaks: before it is sent, while it runs, or before the answer. */
export type Break = 'before' | 'during' | 'after';

export type Relay = {
  url: string;
  /** Address of the service. */
  target: string;
  /** Breaks for the next executions. Later connections stay intact. */
  breaks: Break[];
  /** Resolves when an execution that will break is running. */
  underWay: Promise<void>;
  /** Every attempt to execute: its key, its body and the service's status. */
  executions: { key: string | undefined; body: string; status?: number }[];
  onAnswer: (status: number) => void;
  close(): Promise<void>;
};

const PASSED = ['accept', 'authorization', 'content-type', 'idempotency-key'];
const RETURNED = ['retry-after', 'ignored-fields'];

/** Starts a relay between an agent and the service that breaks connections on demand. */
export async function startRelay(): Promise<Relay> {
  const server = createServer((request, response) => {
    pass(relay, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const relay: Relay = {
    url: `http://127.0.0.1:${port}`,
    target: '',
    breaks: [],
    underWay: Promise.resolve(),
    executions: [],
    onAnswer: () => {},
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return relay;
}

async function pass(relay: Relay, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = 'GET', url = '/', headers: given } = request;
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks).toString();
  const isExecution = url.endsWith('/execute');
  const execution: Relay['executions'][number] = {
    key: given['idempotency-key']?.toString(),
    body,
  };
  if (isExecution) relay.executions.push(execution);
  const broken = isExecution ? relay.breaks.shift() : undefined;
  if (broken === 'before') return void request.socket.destroy();

  const passed = PASSED.flatMap((name) => (given[name] ? [[name, String(given[name])]] : []));
  const answering = fetch(`${relay.target}${url}`, {
    method,
    headers: { ...Object.fromEntries(passed), 'x-forwarded-for': freshAddress() },
    ...(method === 'POST' ? { body } : {}),
  });
  if (broken === 'during') {
    await relay.underWay;
    request.socket.destroy();
  }
  const answer = await answering;
  const text = await answer.text();
  if (isExecution) execution.status = answer.status;
  if (broken !== undefined) return void request.socket.destroy();
  const returned = RETURNED.flatMap((name) => (answer.headers.has(name) ? [[name, answer.headers.get(name)]] : []));
  response.writeHead(answer.status, Object.fromEntries(returned));
  response.end(text);
  if (isExecution) relay.onAnswer(answer.status);
}
