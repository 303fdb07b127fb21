/** Clients that send requests and never read an answer. The service must limit the memory for such clients. */
import { connect, type Socket } from 'node:net';

/** Number of requests that a client sends at a time, until its connection accepts no more data. */
const TOGETHER = 20;
const EVERY_MS = 250;

/**
 * Opens one connection for each series of requests, and reconnects after each cut. Returns a function that ends all
 * connections and returns the number of connections that were opened.
 */
export function startSlowReaders(port: number, series: readonly (() => string)[]): () => number {
  let came = 0;
  const ends = series.map((next) => {
    let socket: Socket | undefined;
    const open = () => {
      came += 1;
      const opened = connect({ port, host: '127.0.0.1' });
      opened.pause();
      // The server is expected to close the connection.
      opened.on('error', () => opened.destroy());
      opened.on('close', () => {
        if (socket === opened) socket = undefined;
      });
      return opened;
    };
    const timer = setInterval(() => {
      socket ??= open();
      for (let sent = 0; sent < TOGETHER && !socket.writableNeedDrain; sent += 1) {
        socket.write(next(), 'latin1');
      }
    }, EVERY_MS);
    return () => {
      clearInterval(timer);
      socket?.destroy();
    };
  });
  return () => {
    for (const end of ends) end();
    return came;
  };
}
