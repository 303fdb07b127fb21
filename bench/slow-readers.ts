/** Clients that ask and ask, and never read an answer: what is kept for them has to end. */
import { connect, type Socket } from 'node:net';

/** So many requests at a time, until the connection takes no more. */
const TOGETHER = 20;
const EVERY_MS = 250;

/** One connection for each series of requests; whoever is cut off comes again. Returns what ends them; it says how often they came. */
export function startSlowReaders(port: number, series: readonly (() => string)[]): () => number {
  let came = 0;
  const ends = series.map((next) => {
    let socket: Socket | undefined;
    const open = () => {
      came += 1;
      const opened = connect({ port, host: '127.0.0.1' });
      opened.pause();
      // Cut off by the server: that is what it is for.
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
