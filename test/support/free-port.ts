import { createServer } from 'node:net';

/** Below the ports that the kernel gives to whoever asks for any, and to every connection. */
const FIRST = 20_000;
const LAST = 32_000;

let next = FIRST + Math.floor(Math.random() * (LAST - FIRST));

/**
 * A port of 127.0.0.1 that nobody listens on, and that no other server or connection is given before the caller's
 * program listens. Processes that run beside each other begin at different ones.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = next;
    next = port === LAST ? FIRST : port + 1;
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
