import { constants } from 'node:http2';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { openHttpUpstream } from '../../src/upstream/http.ts';
import type { RemoteUpstream } from '../../src/upstream/upstream.ts';
import { cert } from '../support/certificate.ts';
import { startTlsReceiver } from '../support/tls-receiver.ts';
import { freely, lead } from './event.ts';

const trusted = getCACertificates('default');

let receiver: Awaited<ReturnType<typeof startTlsReceiver>>;
let upstream: RemoteUpstream;

async function receive(answer?: Parameters<typeof startTlsReceiver>[0]) {
  receiver = await startTlsReceiver(answer);
  const { url } = receiver;
  upstream = openHttpUpstream({ url, secrets: [], timeoutMs: 2_000, clock: systemClock });
}

beforeAll(() => setDefaultCACertificates([...trusted, cert]));
afterEach(async () => {
  await upstream.close();
  receiver.close();
});
afterAll(() => setDefaultCACertificates(trusted));

test('deliver uses HTTP/1.1 with a receiver that prefers HTTP/2 (reference §10.4)', async () => {
  await receive();
  expect(await upstream.deliver(lead, freely)).toEqual({ kind: 'confirmed', known: false, status: 200 });
  expect(receiver.spoken).toEqual(['1.1']);
});

test('deliver sends an event only once over TLS, even after a reset (reference §10.4)', async () => {
  await receive((request, response) => {
    if (request.httpVersion === '1.1') request.socket.destroy();
    // An HTTP/2 client takes this as never processed, and its library would send it again.
    else response.stream.close(constants.NGHTTP2_REFUSED_STREAM);
  });
  const outcome = await upstream.deliver(lead, freely);
  expect(outcome).toMatchObject({ kind: 'unconfirmed' });
  expect(outcome).not.toHaveProperty('unsent');
  expect(receiver.spoken).toHaveLength(1);
});
