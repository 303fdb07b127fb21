import type { AddressInfo } from 'node:net';
import { createConnection, createServer, type Socket } from 'node:net';

export type TcpProxy = {
  port: number;
  /** What the server says reaches nobody. */
  swallowAnswers: boolean;
  /** How many pieces of it there were. */
  swallowed: number;
  /** Called with what a client sends, before it is passed on. */
  onRequest: (bytes: Buffer) => void;
  /** Ends every connection. */
  cut(): void;
  close(): void;
};

/** A proxy in front of a server, which passes everything on until it is told otherwise. */
export async function startTcpProxy(target: { host: string; port: number }): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const behind = createConnection(target);
    for (const socket of [client, behind]) sockets.add(socket.on('error', () => {}));
    client
      .on('data', (bytes: Buffer) => {
        proxy.onRequest(bytes);
        behind.write(bytes);
      })
      .on('close', () => behind.destroy());
    behind
      .on('data', (bytes: Buffer) => {
        if (proxy.swallowAnswers) proxy.swallowed += 1;
        else client.write(bytes);
      })
      .on('close', () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy: TcpProxy = {
    port: (server.address() as AddressInfo).port,
    swallowAnswers: false,
    swallowed: 0,
    onRequest: () => {},
    cut: () => {
      for (const socket of sockets) socket.destroy();
      sockets.clear();
    },
    close: () => {
      proxy.cut();
      server.close();
    },
  };
  return proxy;
}
