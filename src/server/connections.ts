/**
 * What one connection may keep waiting (contract §4, "Slow and broken requests"): answers that nobody
 * reads, and requests that were sent before their turn. Node bounds neither.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Clock, every } from '../clock.ts';
import { openUnderWay } from '../operations/under-way.ts';

/** How long a client may read nothing of an answer. */
const UNREAD_MS = 30_000;
const SWEEP_MS = 1_000;

const WAITING_MAXIMUM = 32;

type Connection = {
  socket: Socket;
  /** Requests that were taken and whose answers have not left. */
  waiting: number;
  /** How far its bytes were at the last look, and since when; nothing waits where it is undefined. */
  stuck?: { at: number; since: number } | undefined;
};

export type Connections = {
  /**
   * Takes the response of a request that has begun; returns what to call once it has closed, or undefined
   * where too many wait before it: then it must not be answered, and its connection is about to end.
   */
  begin(response: ServerResponse): (() => void) | undefined;
};

/** One look a second at all connections, as long as there are some: no timer for each. */
export function openConnections(clock: Clock): Connections {
  const open = openUnderWay<Connection>();
  const bySocket = new WeakMap<Socket, Connection>();
  let stopLooking: (() => void) | undefined;

  const look = () => {
    const now = clock.monotonic();
    const connections = open.all();
    for (const connection of connections) cutWhereUnread(connection, now);
    if (connections.length > 0) return;
    stopLooking?.();
    stopLooking = undefined;
  };

  const connectionOf = (socket: Socket): Connection => {
    const known = bySocket.get(socket);
    if (known !== undefined) return known;
    const connection: Connection = { socket, waiting: 0 };
    bySocket.set(socket, connection);
    socket.once('close', open.add(connection));
    stopLooking ??= every(clock, SWEEP_MS, look);
    return connection;
  };

  return {
    begin(response) {
      const { socket } = response.req;
      const connection = connectionOf(socket);
      connection.waiting += 1;
      if (connection.waiting <= WAITING_MAXIMUM) {
        // What comes after it is not answered: RFC 9112 §9.3.2 lets a client send it again elsewhere.
        if (connection.waiting === WAITING_MAXIMUM) response.shouldKeepAlive = false;
        return () => {
          connection.waiting -= 1;
        };
      }
      // The answers before it may still go out; Node keeps what was read with it, so not much of that.
      socket.pause();
      if (connection.waiting > 2 * WAITING_MAXIMUM) socket.destroy();
      return undefined;
    },
  };
}

/** Ends a connection of whose bytes none has left for as long as a client may take. */
function cutWhereUnread(connection: Connection, now: number): void {
  const { socket, stuck } = connection;
  if (socket.writableLength === 0) {
    connection.stuck = undefined;
    return;
  }
  const at = bytesSent(socket);
  if (stuck?.at !== at) connection.stuck = { at, since: now };
  else if (now - stuck.since >= UNREAD_MS) socket.destroy();
}

/** A number that changes whenever the system has taken bytes, also some of those of a large write. */
function bytesSent(socket: Socket & { _handle?: { writeQueueSize?: number } | null }): number {
  return socket.bytesWritten - socket.writableLength - (socket._handle?.writeQueueSize ?? 0);
}
