/**
 * Sends the load over raw sockets, because a whole HTTP client would cost more than the servers that it measures.
 * `saturate` sends on every connection without a pause. `pace` sends at a steady rate, whatever the answers do, and
 * counts each latency from the time at which the request was due.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { messageReader } from './messages.ts';

/** The server of a load. Every answer must have the status. */
export type Target = { port: number; connections: number; status: number };

export type Measured = { perSecond: number; p50: number; p99: number };

type Answered = { head: string; body: Buffer };

type Connection = { socket: Socket; since: number; answered: (answer: Answered) => void };

/** Sends one request. Returns its whole answer. */
export function ask(target: Target, request: string): Promise<Answered> {
  return connected<Answered>({ ...target, connections: 1 }, ([only], resolve) => {
    if (only === undefined) return;
    only.answered = resolve;
    only.socket.write(request, 'latin1');
  });
}

/** Sends the next request over each connection as soon as the connection's previous request is answered. */
export function saturate(target: Target, next: () => string, ms: number): Promise<Measured> {
  return connected<Measured>(target, (connections, resolve) => {
    const latencies: number[] = [];
    const startedAt = performance.now();
    let working = connections.length;
    for (const connection of connections) {
      const send = () => {
        connection.since = performance.now();
        connection.socket.write(next(), 'latin1');
      };
      connection.answered = () => {
        const now = performance.now();
        latencies.push(now - connection.since);
        if (now - startedAt < ms) return send();
        working -= 1;
        if (working === 0) resolve(summarize(latencies, now - startedAt));
      };
      send();
    }
  });
}

/** Sends a number of requests per second. A request that finds no free connection waits, and this time counts. */
export function pace(target: Target, next: () => string, perSecond: number, ms: number): Promise<Measured> {
  return connected<Measured>(target, (connections, resolve) => {
    const latencies: number[] = [];
    const idle = [...connections];
    const total = Math.floor((perSecond * ms) / 1000);
    const startedAt = performance.now();
    const dueAt = (index: number) => startedAt + (index * 1000) / perSecond;
    let sent = 0;
    for (const connection of connections) {
      connection.answered = () => {
        const now = performance.now();
        latencies.push(now - connection.since);
        idle.push(connection);
        if (latencies.length === total) resolve(summarize(latencies, now - startedAt));
      };
    }
    const turn = () => {
      while (sent < total && dueAt(sent) <= performance.now()) {
        // Connections take turns, because the server closes a connection that stays silent.
        const connection = idle.shift();
        if (connection === undefined) break;
        connection.since = dueAt(sent);
        connection.socket.write(next(), 'latin1');
        sent += 1;
      }
      if (sent === total) return;
      // A timer would fire up to 2 ms late.
      setImmediate(turn);
    };
    turn();
  });
}

/**
 * Runs a load over fresh connections. Fails at the first answer with another status. The load has its own core, so it
 * waits actively. Otherwise a slow server would also have to wake the load, and would seem even slower.
 */
async function connected<T>(
  { port, connections: count, status }: Target,
  run: (connections: Connection[], resolve: (value: T) => void) => void,
): Promise<T> {
  const sockets = Array.from({ length: count }, () => connect({ port, host: '127.0.0.1', noDelay: true }));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  let isOver = false;
  const wait = () => {
    if (!isOver) setImmediate(wait);
  };
  wait();
  try {
    return await new Promise<T>((resolve, reject) => {
      const open = (socket: Socket): Connection => {
        const connection: Connection = { socket, since: 0, answered: () => {} };
        const read = messageReader((head, body) => {
          if (Number(head.slice(9, 12)) === status) connection.answered({ head, body });
          else reject(new Error(`The answer was not ${status}: ${head}`));
        });
        socket.on('data', read);
        socket.on('error', reject);
        socket.on('close', () => reject(new Error('The server closed a connection.')));
        return connection;
      };
      run(sockets.map(open), resolve);
    });
  } finally {
    isOver = true;
    for (const socket of sockets) socket.destroy();
  }
}

function summarize(latencies: number[], ms: number): Measured {
  const sorted = Float64Array.from(latencies).sort();
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
  return { perSecond: (latencies.length * 1000) / ms, p50: at(0.5), p99: at(0.99) };
}
