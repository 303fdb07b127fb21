import type { AddressInfo } from 'node:net';
import { createConnection, createServer, type Socket } from 'node:net';

export type TcpProxy = {
  port: number;
  /** If true, the proxy drops everything that the server sends. */
  swallowAnswers: boolean;
  /** Number of dropped chunks. */
  swallowed: number;
  /** Called with each chunk of a client before the proxy passes it on. */
  onRequest: (bytes: Buffer) => void;
  /** Ends every connection. */
  cut(): void;
  close(): void;
};

/** Starts a proxy in front of a server. By default, it passes everything on. */
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
