/**
 * The load: raw sockets, for a whole HTTP client would cost more than the servers it measures.
 * `saturate` keeps every connection busy; `pace` sends at a steady rate whatever the answers do, and
 * counts each latency from the moment the request was due.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { messageReader } from './messages.ts';

export type Answered = { head: string; body: Buffer };

export type Measured = { perSecond: number; p50: number; p99: number };

export type Client = {
  /** Sends one request, as the first of all; returns its whole answer. */
  ask(request: string): Promise<Answered>;
  saturate(next: () => string, ms: number): Promise<Measured>;
  pace(next: () => string, perSecond: number, ms: number): Promise<Measured>;
  close(): void;
};

/** How late a timer may come. */
const TIMER_MS = 2;

type Connection = { socket: Socket; since: number; answered: (answer: Answered) => void };

/** Connects so many times; every answer has to have this status. */
export async function openClient(
  port: number,
  count: number,
  expectedStatus: number,
): Promise<Client> {
  let fail: (error: Error) => void = () => {};
  const open = async (): Promise<Connection> => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    const connection: Connection = { socket, since: 0, answered: () => {} };
    const read = messageReader((head, body) => {
      if (Number(head.slice(9, 12)) === expectedStatus) connection.answered({ head, body });
      else fail(new Error(`The answer was not ${expectedStatus}: ${head}`));
    });
    socket.on('data', read);
    socket.on('error', (error) => fail(error));
    socket.on('close', () => fail(new Error('The server closed a connection.')));
    return connection;
  };
  const connections = await Promise.all(Array.from({ length: count }, open));

  return {
    ask: (request) =>
      new Promise((resolve, reject) => {
        fail = reject;
        const [first] = connections;
        if (first === undefined) return;
        first.answered = resolve;
        first.socket.write(request, 'latin1');
      }),

    saturate: (next, ms) =>
      new Promise((resolve, reject) => {
        fail = reject;
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
      }),

    pace: (next, perSecond, ms) =>
      new Promise((resolve, reject) => {
        fail = reject;
        const latencies: number[] = [];
        const idle = [...connections];
        const total = Math.floor((perSecond * ms) / 1000);
        const startedAt = performance.now();
        let sent = 0;
        const dueAt = (index: number) => startedAt + (index * 1000) / perSecond;
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
            const connection = idle.pop();
            if (connection === undefined) break;
            connection.since = dueAt(sent);
            connection.socket.write(next(), 'latin1');
            sent += 1;
          }
          if (sent === total) return;
          const wait = dueAt(sent) - performance.now();
          // A timer is too coarse for the rest: the load has a core of its own to wait on.
          if (wait > TIMER_MS) setTimeout(turn, wait - TIMER_MS);
          else setImmediate(turn);
        };
        turn();
      }),

    close: () => {
      fail = () => {};
      for (const { socket } of connections) socket.destroy();
    },
  };
}

function summarize(latencies: number[], ms: number): Measured {
  const sorted = Float64Array.from(latencies).sort();
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
  return { perSecond: (latencies.length * 1000) / ms, p50: at(0.5), p99: at(0.99) };
}
