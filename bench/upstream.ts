/**
 * The upstream of all compared servers. The upstream reads whole requests, confirms each request, and takes almost no
 * processor time.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { messageReader } from './messages.ts';

const CONFIRMED = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}';

/** Starts the upstream in this process. Returns its address and a function that ends it. */
export async function startUpstream(): Promise<{ url: string; close: () => void }> {
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on(
      'data',
      messageReader(() => void socket.write(CONFIRMED)),
    );
    // A server cuts its connections when it ends.
    socket.on('error', () => socket.destroy());
  });
  server.listen(0, '127.0.0.1').unref();
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/events`, close: () => server.close() };
}
