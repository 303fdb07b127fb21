import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';

/** Below the ports that the kernel gives to whoever asks for any, and to every connection. */
const FIRST = 20_000;
const LAST = 32_000;

let next = FIRST + Math.floor(Math.random() * (LAST - FIRST));

/**
 * A port of 127.0.0.1 that nobody listens on, and that no other server or connection is given as long as this process
 * lives: also while the caller's program starts, or starts again. A second program on the port of one that is just
 * being started again would end, and its test would talk to the other's.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = next;
    next = port === LAST ? FIRST : port + 1;
    if ((await reserve(port)) && (await isFree(port))) return port;
  }
}

/** Whether the port is from now on this process's: UDP's port of the same number says so to the other processes. */
export function reserve(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const reservation = createSocket('udp4').unref();
    reservation.once('error', () => resolve(false));
    reservation.bind({ port, address: '127.0.0.1', exclusive: true }, () => resolve(true));
  });
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
