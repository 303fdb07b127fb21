import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';

/** Lowest port. The range is below the ephemeral ports, which the kernel gives to connections and to port 0. */
const FIRST = 20_000;
const LAST = 32_000;

let next = FIRST + Math.floor(Math.random() * (LAST - FIRST));

/**
 * Returns a free port of 127.0.0.1. No other test process gets it while this process lives, even while no program
 * listens on it. Otherwise, a program that restarts could lose its port, and its test would talk to another program.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = next;
    next = port === LAST ? FIRST : port + 1;
    if ((await reserve(port)) && (await isFree(port))) return port;
  }
}

/** Reserves the port for this process. Returns false if another has it. The UDP port of this number is the mark. */
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
