import { connect, type Socket } from 'node:net';
import { expect } from 'vitest';

export type Reply = {
  status: number;
  headers: Record<string, string>;
  body: string;
};

export type Wire = {
  socket: Socket;
  text(): string;
  write(bytes: string | Buffer): void;
  /** Waits for this many complete answers. */
  answers(count: number): Promise<Reply[]>;
  /** Waits until the peer closes the connection. Returns all its answers. */
  closed(): Promise<Reply[]>;
};

/** Opens a connection over which the test sends exact bytes. */
export async function openWire(url: string): Promise<Wire> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const chunks: Buffer[] = [];
  const listeners = new Set<() => void>();
  const notify = () => {
    for (const listener of listeners) listener();
  };
  let isClosed = false;
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    notify();
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    isClosed = true;
    notify();
  });
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  const text = () => Buffer.concat(chunks).toString('latin1');
  const until = (done: () => boolean) =>
    new Promise<Reply[]>((resolve) => {
      const look = () => {
        if (!isClosed && !done()) return;
        listeners.delete(look);
        resolve(parseReplies(text()));
      };
      listeners.add(look);
      look();
    });
  return {
    socket,
    text,
    write: (bytes) => void socket.write(bytes),
    answers: (count) => until(() => parseReplies(text()).length >= count),
    closed: () => until(() => false),
  };
}

/** Returns true if connections to this URL are refused. */
export async function refusesConnections(url: string): Promise<boolean> {
  try {
    const { socket } = await openWire(url);
    socket.destroy();
    return false;
  } catch {
    return true;
  }
}

/** Opens a connection, writes, and returns all answers until the peer closes. */
export async function exchange(url: string, bytes: string | Buffer): Promise<Reply[]> {
  const wire = await openWire(url);
  wire.write(bytes);
  await wire.closed();
  return parseReplies(wire.text(), bytes.toString().startsWith('HEAD '));
}

/** Returns the answers in a stream, `100 Continue` included. An incomplete answer ends the list. */
function parseReplies(text: string, headRequests = false): Reply[] {
  const replies: Reply[] = [];
  let rest = text;
  for (;;) {
    const end = rest.indexOf('\r\n\r\n');
    const status = /^HTTP\/1\.1 (\d{3}) /.exec(rest)?.[1];
    if (end < 0 || status === undefined) return replies;
    const headers: Record<string, string> = {};
    for (const line of rest.slice(0, end).split('\r\n').slice(1)) {
      const colon = line.indexOf(':');
      headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
    }
    const bodyless = headRequests || status.startsWith('1') || status === '304';
    const length = bodyless ? 0 : Number(headers['content-length'] ?? 0);
    const bodyStart = end + 4;
    if (rest.length < bodyStart + length) return replies;
    replies.push({
      status: Number(status),
      headers,
      body: rest.slice(bodyStart, bodyStart + length),
    });
    rest = rest.slice(bodyStart + length);
  }
}

/** Expects the status, a request id, and for an error the common shape of errors. */
export function expectAnswer(reply: Reply | undefined, status: number): Reply {
  if (reply === undefined) expect.fail('There is no answer.');
  expect([reply.status, reply.headers['x-request-id']]).toEqual([status, expect.stringMatching(/^[0-9a-f-]{36}$/)]);
  if (reply.body.startsWith('{') && status >= 400) {
    expect(Object.keys(JSON.parse(reply.body))).toContain('error');
  }
  return reply;
}
