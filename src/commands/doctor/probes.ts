/** Probes the protocol of a port. If a setting and a server differ in TLS, the errors don't show this. */
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { systemClock } from '../../platform/clock.ts';

const ANSWER_WITHIN_MS = 2_000;

type Port = { host: string; port: number };

/** Returns host and port of an address. */
export function portOf(address: string, defaultPort: number): Port {
  const { hostname, port } = new URL(address);
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port) || defaultPort };
}

/** Returns true if a handshake succeeds, with any certificate. Nothing else is sent. */
export function speaksTls(port: Port): Promise<boolean> {
  return firstOf(connectTls({ ...port, rejectUnauthorized: false }), { secureConnect: true });
}

/** Returns true if the port is open and its server waits for the client to speak first. */
export function waitsForClient(port: Port): Promise<boolean> {
  const socket = connect(port);
  return firstOf(socket, { data: false }, () => socket.readyState === 'open');
}

/** Returns true if a server answers Redis' own PING without TLS. */
export function speaksRedis(port: Port): Promise<boolean> {
  const socket = connect(port, () => socket.write('PING\r\n'));
  return firstOf(socket, { data: true });
}

/**
 * Returns the value of the first event, false for an error or the end, or the value of `silent()` if no event comes in
 * time.
 */
function firstOf(socket: Socket, events: Readonly<Record<string, boolean>>, silent = () => false): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (value: boolean) => {
      cancel();
      resolve(value);
      socket.destroy();
    };
    const cancel = systemClock.after(ANSWER_WITHIN_MS, () => end(silent()));
    for (const [event, value] of Object.entries({ ...events, error: false, close: false })) {
      socket.on(event, () => end(value));
    }
  });
}
