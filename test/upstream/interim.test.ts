import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { openHttpUpstream } from '../../src/upstream/http.ts';
import { withoutContinue } from '../../src/upstream/interim.ts';
import { until } from '../support/until.ts';
import { freely, lead } from './event.ts';

const interim = 'HTTP/1.1 100 Continue\r\n\r\n';
const final = 'HTTP/1.1 202 Accepted\r\ncontent-length: 2\r\n\r\nok';

/** Starts an upstream that answers each request with these pieces, and counts its connections. */
async function speaking(pieces: readonly string[], timeoutMs = 400) {
  let connections = 0;
  const server = createServer({ noDelay: true }, (socket) => {
    connections += 1;
    socket.on('error', () => {});
    socket.on('data', async (data) => {
      if (!data.includes('}}')) return;
      for (const piece of pieces) {
        socket.write(piece);
        await systemClock.sleep(1);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return {
    raw: openHttpUpstream({ url, secrets: [], timeoutMs, clock: systemClock }),
    connections: () => connections,
    close: () => server.close(),
  };
}

test.each([
  ['with the answer', [interim + final]],
  ['before the answer', [interim, final]],
  ['twice, with headers', [`${interim}HTTP/1.1 100 Continue\r\na: b\r\n\r\n${final}`]],
  ['and 103', [interim, 'HTTP/1.1 103 Early Hints\r\n\r\n', interim + final]],
  ['byte by byte', [...(interim + final)]],
])('deliver ignores an unrequested 100 Continue %s (RFC 9110 §15.2)', async (_how, pieces) => {
  const { raw, connections, close } = await speaking(pieces);
  for (let times = 0; times < 3; times += 1) {
    expect(await raw.deliver(lead, freely)).toEqual({
      kind: 'confirmed',
      known: false,
      status: 202,
    });
  }
  // All requests but the first could reuse a connection.
  expect(connections()).toBeLessThan(4);
  await raw.close();
  close();
});

test.each([
  ['endless 100', Array.from({ length: 600 }, () => interim)],
  ['the beginning of a 100 and nothing else', ['HTTP/1.1 100 Cont']],
])('deliver returns unconfirmed for %s', async (_name, pieces) => {
  const { raw, close } = await speaking(pieces);
  expect(await raw.deliver(lead, freely)).toMatchObject({ kind: 'unconfirmed' });
  await raw.close();
  close();
});

test('deliver returns unconfirmed after 16 KB of endless headers, long before the timeout', async () => {
  const endless = Array.from({ length: 50 }, () => interim.slice(0, -2).padEnd(1_000, 'x'));
  const { raw, close } = await speaking(endless, 60_000);
  expect(await raw.deliver(lead, freely)).toMatchObject({
    kind: 'unconfirmed',
    reason: expect.stringMatching('The request to the upstream failed'),
  });
  await raw.close();
  close();
});

describe('stream without 100 Continue', () => {
  /** Returns the stream of a connection, its socket, and the socket of the peer. */
  async function connected() {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const [peer] = (await once(server, 'connection')) as [Socket];
    const stream = withoutContinue(socket);
    onTestFinished(() => {
      stream.destroy();
      peer.destroy();
      server.close();
    });
    return { stream, socket, peer };
  }

  test('ends and closes if the peer ends the connection', async () => {
    const { stream, peer } = await connected();
    peer.end('last');
    expect(await stream.toArray()).toEqual([Buffer.from('last')]);
    await until(() => stream.destroyed);
  });

  test('ends the connection if its writable side ends', async () => {
    const { stream, peer } = await connected();
    stream.end('last');
    expect(Buffer.concat(await peer.toArray()).toString()).toBe('last');
  });

  test('closes the connection if it is destroyed', async () => {
    const { stream, peer } = await connected();
    stream.destroy();
    peer.resume();
    await once(peer, 'close');
  });

  test('fails with the error of the socket, and closes without one', async () => {
    const [reset, closed] = [await connected(), await connected()];
    const failed = once(reset.stream, 'error');
    reset.socket.destroy(new Error('The cable was cut.'));
    expect(await failed).toMatchObject([{ message: 'The cable was cut.' }]);
    closed.socket.destroy();
    await once(closed.stream, 'close');
  });

  test('pauses the socket while nobody reads, and then carries every byte', async () => {
    const { stream, socket, peer } = await connected();
    const sent = Buffer.alloc(8 * 1024 * 1024, 'x');
    peer.end(sent);
    await until(() => socket.isPaused());
    expect(socket.bytesRead).toBeLessThan(sent.length / 2);
    expect(Buffer.concat(await stream.toArray()).equals(sent)).toBe(true);
  });
});
