import {
  constants,
  createSecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { openHttpUpstream } from '../../src/upstream/http.ts';
import { cert, key } from '../support/certificate.ts';
import { freely, lead } from './event.ts';

const trusted = getCACertificates('default');

beforeAll(() => setDefaultCACertificates([...trusted, cert]));
afterAll(() => setDefaultCACertificates(trusted));

/** Most receivers speak both, and take HTTP/2 from whoever offers it. */
async function receive(
  answer: (request: Http2ServerRequest, response: Http2ServerResponse) => void,
) {
  const spoken: string[] = [];
  const server = createSecureServer({ cert, key, allowHTTP1: true }, (request, response) => {
    spoken.push(request.httpVersion);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const upstream = openHttpUpstream({
    url: `https://localhost:${port}/`,
    secret: undefined,
    timeoutMs: 2_000,
    clock: systemClock,
  });
  const close = async () => {
    await upstream.close();
    server.close();
  };
  return { upstream, spoken, close };
}

test('contract §3: a receiver that prefers HTTP/2 is sent HTTP/1.1, one request on a connection', async () => {
  const { upstream, spoken, close } = await receive((_request, response) => response.end());
  expect(await upstream.deliver(lead, freely)).toEqual({ kind: 'confirmed', known: false });
  expect(spoken).toEqual(['1.1']);
  await close();
});

test('contract §3: what has reached a receiver over TLS is not sent a second time, even where it resets the stream', async () => {
  const { upstream, spoken, close } = await receive((request, response) => {
    if (request.httpVersion === '1.1') request.socket.destroy();
    // In HTTP/2 a client may take it as never processed, and the library sent it again by itself.
    else response.stream.close(constants.NGHTTP2_REFUSED_STREAM);
  });
  const outcome = await upstream.deliver(lead, freely);
  expect(outcome).toMatchObject({ kind: 'unconfirmed' });
  expect(outcome).not.toHaveProperty('unsent');
  expect(spoken).toHaveLength(1);
  await close();
});
