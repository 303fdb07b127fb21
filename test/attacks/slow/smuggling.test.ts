/**
 * Differences between two servers in reading a request smuggle none past the first (ASVS 4.2.1). For the service alone, see
 * test/server/wire.test.ts. Here, nginx and haproxy refuse `/api/leads`, so a lead that arrives was smuggled.
 */
import { get } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { quote } from '../../support/agent.ts';
import { haproxyIsThere, startHaproxy } from '../../support/haproxy.ts';
import { nginxIsThere, startNginx } from '../../support/nginx.ts';
import { countEffects } from '../../support/outcomes.ts';
import { type Service, startService } from '../../support/service.ts';
import { openWire } from '../../support/wire.ts';

const lead = JSON.stringify({ form: 'homeowner_quote', ...quote });
const marked =
  'POST /api/leads HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n' +
  `Content-Length: ${lead.length}\r\nConnection: close\r\n\r\n${lead}`;
/** Repeats a request that met a closing connection between proxy and service, because that 502 is not a smuggled answer. */
async function askInnocently(url: string): Promise<[status: number | undefined, body: string]> {
  const first = await askAlone(url);
  return first[0] === 502 ? await askAlone(url) : first;
}

/** Uses a new connection, because the proxy may close a reused one at that moment. */
function askAlone(url: string): Promise<[status: number | undefined, body: string]> {
  return new Promise((resolve, reject) => {
    const asking = get(url, { agent: false }, (answer) => {
      text(answer).then((body) => resolve([answer.statusCode, body]), reject);
    });
    asking.on('error', reject);
  });
}

const chunkOf = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;

/** Headers about the body of the carrier, and the place of the marked request in it. */
const carriers: [string, (path: string) => string][] = [
  ...(
    [
      ['chunked', 'Transfer-Encoding: chunked\r\n'],
      ['chunked with a space before the colon', 'Transfer-Encoding : chunked\r\n'],
      ['chunked with a tab', 'Transfer-Encoding:\tchunked\r\n'],
      ['chunked after a vertical tab', 'Transfer-Encoding: \x0bchunked\r\n'],
      ['Chunked', 'Transfer-Encoding: Chunked\r\n'],
      ['xchunked', 'Transfer-Encoding: xchunked\r\n'],
      ['chunked, identity', 'Transfer-Encoding: chunked, identity\r\n'],
      ['identity, chunked', 'Transfer-Encoding: identity, chunked\r\n'],
      ['chunked twice', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n'],
      ['chunked and x', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n'],
      ['folded', 'Transfer-Encoding:\r\n chunked\r\n'],
      ['behind a bare line feed', 'X: y\nTransfer-Encoding: chunked\r\n'],
      ['behind a bare carriage return', 'X: y\rTransfer-Encoding: chunked\r\n'],
      ['behind NUL', 'X: y\0\r\nTransfer-Encoding: chunked\r\n'],
      ['with an underscore', 'Transfer_Encoding: chunked\r\n'],
      ['quoted', 'Transfer-Encoding: "chunked"\r\n'],
    ] as const
  ).flatMap(([name, header]): [string, (path: string) => string][] => [
    [
      `Content-Length over all, Transfer-Encoding ${name} ends before it (CL.TE)`,
      (path) => {
        const body = `0\r\n\r\n${marked}`;
        return `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n${header}\r\n${body}`;
      },
    ],
    [
      `Transfer-Encoding ${name} over all, Content-Length ends before it (TE.CL)`,
      (path) => {
        const body = `${chunkOf(marked)}0\r\n\r\n`;
        const short = body.indexOf('\r\n') + 2;
        return `POST ${path} HTTP/1.1\r\nHost: x\r\n${header}Content-Length: ${short}\r\n\r\n${body}`;
      },
    ],
  ]),
  [
    'two Content-Length (CL.CL)',
    (path) =>
      `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: ${marked.length}\r\n\r\n${marked}`,
  ],
  [
    'a list of Content-Length',
    (path) => `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${marked.length}, 0\r\n\r\n${marked}`,
  ],
  [
    'a Content-Length with a sign',
    (path) => `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: +${marked.length}\r\n\r\n${marked}`,
  ],
  [
    'a body of a GET (CL.0)',
    (path) => `GET ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${marked.length}\r\n\r\n${marked}`,
  ],
  [
    'a chunk size beyond 32 bits',
    (path) =>
      `POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n100000000${(5).toString(16)}\r\nabcde\r\n0\r\n\r\n${marked}`,
  ],
  [
    'chunk sizes in a line with bare line feeds',
    (path) => `POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\na\n0\n\n${marked}`,
  ],
  [
    'a chunk extension that ends in a bare line feed',
    (path) => `POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1;a\nb\r\na\r\n0\r\n\r\n${marked}`,
  ],
  [
    'a trailer with another length',
    (path) =>
      `POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: ${marked.length}\r\n\r\n${marked}`,
  ],
  [
    'an expectation that is not met',
    (path) =>
      `POST ${path} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: ${marked.length}\r\n\r\n${marked}`,
  ],
  [
    'an unexpected upgrade',
    (path) =>
      `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n${marked}`,
  ],
  [
    'HTTP/1.0 and kept alive',
    (path) => `POST ${path} HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${marked}`,
  ],
  [
    'a line break in the address',
    (path) => `GET ${path} HTTP/1.1\r\nX: y\r\n\r\n`.replace(' HTTP', `%0d%0a HTTP`) + marked,
  ],
];

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

type Proxy = { url: string; close(): Promise<void> };
const proxies: [name: string, isThere: boolean, start: () => Promise<Proxy>][] = [
  ['nginx', nginxIsThere, () => startNginx([service.settings.port], 'location = /api/leads { return 403; }\n')],
  ['haproxy', haproxyIsThere, () => startHaproxy(service.settings.port)],
];

describe.each(proxies)('smuggling through %s', (_name, isThere, start) => {
  let proxy: Proxy;
  beforeAll(async () => {
    if (isThere) proxy = await start();
  });
  afterAll(() => proxy?.close());

  test.skipIf(!isThere).each(carriers)('the service executes no smuggled request with %s', async (_carrier, bytes) => {
    const before = await countEffects(service);
    // Routes that read a body, ignore a body, and do not exist.
    for (const path of ['/api/agent/actions/contact/preview', '/llms.txt', '/nothing']) {
      for (let time = 0; time < 2; time += 1) {
        const wire = await openWire(proxy.url);
        wire.write(bytes(path));
        // The next request on the connection between proxy and service would get the answer to a smuggled one.
        expect(await askInnocently(`${proxy.url}/healthz`)).toEqual([200, '{"status":"ok"}']);
        const timer = setTimeout(() => wire.socket.destroy(), 100);
        const replies = await wire.closed();
        clearTimeout(timer);
        // 501 is the answer of nginx to an unknown transfer coding.
        for (const { status } of replies) expect(status < 500 || status === 501).toBe(true);
      }
    }
    expect(await countEffects(service)).toEqual(before);
  });

  test.skipIf(!isThere)(
    'the proxy refuses the smuggled request if it is sent openly, and the service alone accepts it',
    async () => {
      const before = await countEffects(service);
      const wire = await openWire(proxy.url);
      wire.write(marked);
      expect((await wire.closed()).map(({ status }) => status)).toEqual([403]);
      expect(await countEffects(service)).toEqual(before);
      const direct = await openWire(service.url);
      direct.write(marked);
      expect((await direct.closed()).map(({ status }) => status)).toEqual([200]);
      expect((await countEffects(service)).forwarded).toBe(before.forwarded + 1);
    },
  );
});
