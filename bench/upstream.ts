/** The upstream of every contender: reads whole requests, confirms each, and costs next to nothing. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { messageReader } from './messages.ts';

const CONFIRMED =
  'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}';

/** Starts it in this process; returns its address and how to end it. */
export async function startUpstream(): Promise<{ url: string; close: () => void }> {
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on(
      'data',
      messageReader(() => void socket.write(CONFIRMED)),
    );
    // A contender that is ended cuts its connections.
    socket.on('error', () => socket.destroy());
  });
  server.listen(0, '127.0.0.1').unref();
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/events`, close: () => server.close() };
}
