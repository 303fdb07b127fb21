import type { AddressInfo } from 'node:net';
import { createServer, type Server, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { injected } from '../../support/injected.ts';
import { attempt, expectPromises, previewLeads } from '../../support/leads.ts';
import { type ServiceProcess, startProcess } from '../../support/process.ts';
import { until } from '../../support/until.ts';

const UPSTREAM_TIMEOUT_MS = 1_000;

/** Upper limit of the bytes in socket buffers on both sides. They accept bytes that the service never reads. */
const IN_BUFFERS_BYTES = 16 * 1024 * 1024;

/** A server that writes only the bytes of a test, and records the events that it receives. */
const upstream = {
  delivered: [] as { event: { data: Record<string, unknown> } }[],
  answer: (_socket: Socket) => {},
  /** Called for the first bytes of each request. If it returns true, the request is not read. */
  refuse: (_socket: Socket) => false,
};
let server: Server;
let service: ServiceProcess;
beforeAll(async () => {
  server = createServer((socket) => {
    socket.on('error', () => {});
    let head = '';
    socket.on('data', (bytes) => {
      if (head === '' && upstream.refuse(socket)) return;
      head += bytes.toString();
      const body = head.slice(head.indexOf('\r\n\r\n') + 4);
      const length = /content-length: (\d+)/i.exec(head)?.[1];
      if (!head.includes('\r\n\r\n') || Buffer.byteLength(body) < Number(length)) return;
      head = '';
      upstream.delivered.push({ event: JSON.parse(body) });
      upstream.answer(socket);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  service = await startProcess({
    environment: {
      UPSTREAM_URL: `http://127.0.0.1:${port}/`,
      UPSTREAM_TIMEOUT_MS: String(UPSTREAM_TIMEOUT_MS),
    },
  });
});
afterAll(() => void server.close());

const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n';

/** Executes twice, and checks that both answers have the same receipt. */
async function executeTwice() {
  const [lead] = await previewLeads(service, 1);
  if (lead === undefined) return expect.fail();
  const first = await attempt(service, lead);
  const second = await attempt(service, lead);
  expect(second?.body.receipt).toEqual(first?.body.receipt);
  return { lead, answer: first ?? expect.fail() };
}

/** Writes until the socket is closed. `written` returns the number of bytes that left the process. */
function pour(socket: Socket, head: string, chunk: Buffer): { written(): number } {
  socket.write(head);
  const more = () => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on('drain', more);
  more();
  return { written: () => socket.bytesWritten - socket.writableLength };
}

test.for([
  {
    what: 'an endless body',
    head: 'transfer-encoding: chunked',
    chunk: `4000\r\n${'x'.repeat(0x4000)}\r\n`,
  },
  { what: 'a huge body', head: 'content-length: 99999999999', chunk: 'x'.repeat(0x4000) },
  {
    what: 'a decompression bomb',
    head: 'content-encoding: gzip\r\ncontent-length: 99999999999',
    chunk: gzipSync(Buffer.alloc(64 * 1024 * 1024)),
  },
])(
  'upstream answer of 200 with $what confirms the delivery, and the service closes the socket',
  async ({ head, chunk }, context) => {
    let poured = { written: () => 0 };
    let closed = false;
    upstream.answer = (socket) => {
      socket.on('close', () => {
        closed = true;
      });
      poured = pour(socket, `HTTP/1.1 200 OK\r\n${head}\r\n\r\n`, Buffer.from(chunk));
    };
    injected(context, 'upstream: 200, then an endless, huge or compressed body');
    const { lead, answer } = await executeTwice();
    expect(answer.status).toBe(200);
    expectPromises(upstream, [lead]);
    await until(() => closed);
    expect(poured.written()).toBeLessThan(IN_BUFFERS_BYTES);
  },
);

test.for([
  {
    what: '101',
    answer: 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n',
  },
  { what: 'endless 103', answer: 'HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\n\r\n' },
  {
    what: '100 KB of headers',
    answer: `HTTP/1.1 200 OK\r\n${'x-filler: 1234567890\r\n'.repeat(5_000)}\r\n`,
  },
])('upstream answer of $what leaves the delivery unconfirmed', async ({ what, answer: bytes }, context) => {
  upstream.answer = (socket) => {
    const beat = setInterval(() => socket.write(bytes), 20);
    socket.on('close', () => clearInterval(beat));
  };
  injected(context, `upstream: ${what}`);
  const { lead, answer } = await executeTwice();
  expect([answer.status, answer.body.receipt.status]).toEqual([502, 'failed']);
  expectPromises(upstream, [lead]);
});

test.for([
  { value: '-1', waits: '1' },
  { value: '1000000000000', waits: '86400' },
  { value: 'Tue, 01 Sep 2020 12:00:00 GMT', waits: '1' },
])(
  'upstream answer of 429 with Retry-After $value becomes 429 with Retry-After $waits',
  async ({ value, waits }, context) => {
    upstream.answer = (socket) => {
      socket.write(`HTTP/1.1 429 No\r\nretry-after: ${value}\r\ncontent-length: 0\r\n\r\n`);
    };
    injected(context, 'upstream: Retry-After of −1, 1e12 or in the past');
    const [lead] = await previewLeads(service, 1);
    const answer = await attempt(service, lead ?? expect.fail());
    expect([answer?.status, answer?.headers.get('retry-after')]).toEqual([429, waits]);
  },
);

test('a delivery stays unconfirmed, without a retry, if the upstream resets a kept-alive socket before reading', async (context) => {
  upstream.answer = (socket) => socket.write(ok);
  expect((await executeTwice()).answer.status).toBe(200);
  const used = new WeakSet<Socket>();
  upstream.answer = (socket) => {
    used.add(socket);
    socket.write(ok);
  };
  expect((await executeTwice()).answer.status).toBe(200);
  upstream.refuse = (socket) => {
    if (!used.has(socket)) return false;
    injected(context, 'upstream: a kept-alive socket is reset');
    socket.resetAndDestroy();
    return true;
  };
  const { lead, answer } = await executeTwice();
  upstream.refuse = () => false;
  expect(answer.status).toBe(502);
  expectPromises(upstream, [lead]);
  expect(upstream.delivered.some(({ event }) => JSON.stringify(event).includes(lead.email))).toBe(false);
});

test('repeated executions get the same answer and at most one delivery if the upstream closes idle sockets', async (context) => {
  upstream.answer = (socket) => {
    socket.write(ok);
    // The delay is about the time after which the next request arrives.
    setTimeout(() => {
      socket.destroy();
      injected(context, 'upstream: idle sockets are closed');
    }, Math.random() * 12);
  };
  for (let run = 0; run < 40; run += 1) {
    const { lead, answer } = await executeTwice();
    expect([200, 502]).toContain(answer.status);
    expectPromises(upstream, [lead]);
  }
});
