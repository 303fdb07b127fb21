import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { openHttpUpstream } from '../../src/upstream/http.ts';
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
