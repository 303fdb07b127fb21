import type { IncomingHttpHeaders } from 'node:http';
import { createSecureServer } from 'node:http2';
import { createServer } from 'node:https';
import type { AddressInfo, LookupFunction } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openClientDocuments } from '../../src/oauth/client-document.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { isPublicAddress, publicLookup } from '../../src/platform/public-lookup.ts';
import { userAgent } from '../../src/project.ts';
import { cert, key } from '../support/certificate.ts';
import { type TestClock, testClock } from '../support/clock.ts';
import {
  type DocumentServer,
  documentOf,
  lookupHere,
  startDocumentServer,
  trustCertificate,
} from './document-server.ts';

let server: DocumentServer;
let standard: DocumentServer['answer'];
beforeAll(async () => {
  trustCertificate();
  server = await startDocumentServer();
  standard = server.answer;
});
beforeEach(() => {
  server.answer = standard;
  server.requested.length = 0;
});
afterAll(() => server.close());

const open = (clock: TestClock = testClock(), lookup = lookupHere) => openClientDocuments({ clock, lookup });
const document = { name: 'Chat Host', redirectUris: ['http://127.0.0.1/callback', 'https://localhost/callback'] };
const answering = (body: string | Buffer, headers: Record<string, string> = {}, status = 200) => {
  server.answer = (_request, response) => response.writeHead(status, headers).end(body);
};

describe('a metadata document (reference §26.5)', () => {
  test('is read over https from its host', async () => {
    expect(await open()(server.address)).toEqual(document);
    expect(server.requested).toEqual(['/client.json']);
  });

  test('is requested as JSON, with the name of the service', async () => {
    let headers: IncomingHttpHeaders = {};
    server.answer = (request, response) => {
      headers = request.headers;
      standard(request, response);
    };
    await open()(server.address);
    expect(headers).toMatchObject({ accept: 'application/json', 'user-agent': userAgent() });
  });

  test('is read over HTTP/1.1 from a server that also has HTTP/2', async () => {
    let address = '';
    const versions: string[] = [];
    const both = createSecureServer({ key, cert, allowHTTP1: true }, (request, response) => {
      versions.push(request.httpVersion);
      response.end(documentOf(address));
    });
    await new Promise<void>((resolve) => both.listen(0, '127.0.0.1', resolve));
    address = `https://localhost:${(both.address() as AddressInfo).port}/client.json`;
    expect(await open()(address)).toEqual(document);
    expect(versions).toEqual(['1.1']);
    both.close();
  });

  test('leaves no timer behind', async () => {
    let timers = 0;
    const after = () => {
      timers += 1;
      return () => {
        timers -= 1;
      };
    };
    const read = open({ ...testClock(), after });
    await read(server.address);
    answering('x', {}, 404);
    await read(`${server.address}?gone`);
    expect(timers).toBe(0);
  });

  test.each([201, 203, 404, 500])('with the status %i can’t be used', async (status) => {
    answering(documentOf(server.address), {}, status);
    expect(await open()(server.address)).toBeUndefined();
  });

  test.each<[string, Record<string, unknown>]>([
    ['another client_id', { client_id: 'https://localhost/other.json' }],
    ['no client_id', { client_id: undefined }],
    ['no redirect_uris', { redirect_uris: undefined }],
    ['redirect_uris that are no list', { redirect_uris: 'http://127.0.0.1/callback' }],
    ['redirect_uris that are no texts', { redirect_uris: [1] }],
    ['another authentication method', { token_endpoint_auth_method: 'client_secret_basic' }],
    ['no authentication method', { token_endpoint_auth_method: undefined }],
  ])('with %s can’t be used', async (_name, changes) => {
    answering(documentOf(server.address, changes));
    expect(await open()(server.address)).toBeUndefined();
  });

  test.each<[string, string | Buffer, Record<string, string>, number]>([
    ['no JSON', 'x', {}, 200],
    ['an array', '[]', {}, 200],
    ['invalid UTF-8', Buffer.from([0xff]), {}, 200],
    ['deep JSON', `${'['.repeat(100)}${']'.repeat(100)}`, {}, 200],
  ])('with %s can’t be used', async (_name, body, headers, status) => {
    answering(body, headers, status);
    expect(await open()(server.address)).toBeUndefined();
  });

  test.each([301, 302, 303, 307, 308])(
    'with a redirect %i can’t be used, and the redirect is not followed',
    async (status) => {
      server.answer = (request, response) => {
        if (request.url === '/client.json') response.writeHead(status, { location: '/moved.json' }).end();
        else standard(request, response);
      };
      expect(await open()(server.address)).toBeUndefined();
      expect(server.requested).toEqual(['/client.json']);
    },
  );

  test('has at most 5,120 bytes', async () => {
    const plain = documentOf(server.address, { more: '' });
    const fill = (bytes: number) => documentOf(server.address, { more: 'x'.repeat(bytes - plain.length) });
    answering(fill(5_120));
    expect(await open()(server.address)).toEqual(document);
    answering(fill(5_121));
    expect(await open()(server.address)).toBeUndefined();
  });

  test.each<[string, (body: string) => Buffer]>([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
  ])('that is compressed with %s counts by its decoded bytes', async (encoding, compress) => {
    const headers = { 'content-encoding': encoding };
    answering(compress(documentOf(server.address)), headers);
    expect(await open()(server.address)).toEqual(document);
    answering(compress(documentOf(server.address, { more: 'x'.repeat(10_000_000) })), headers);
    expect(await open()(server.address)).toBeUndefined();
  });

  test.each<[string, DocumentServer['answer']]>([
    ['never answers', () => {}],
    ['never ends', (_request, response) => void response.writeHead(200).write('{')],
    [
      'sends a byte now and then',
      (_request, response) => {
        response.writeHead(200);
        const timer = setInterval(() => response.write(' '), 20);
        response.on('close', () => clearInterval(timer));
      },
    ],
  ])('of a host that %s can’t be used after 3 s', async (_name, answer) => {
    server.answer = answer;
    const waits: number[] = [];
    // The time limit passes in the moment in which the host has got the request.
    const after = (ms: number, callback: () => void) => {
      waits.push(ms);
      const timer = setInterval(() => server.requested.length > 0 && callback(), 50);
      return () => clearInterval(timer);
    };
    expect(await open({ ...testClock(), after })(server.address)).toBeUndefined();
    expect(waits).toEqual([3_000]);
  });

  test('of a host without a trusted certificate can’t be used', async () => {
    const foreign = createServer({ key, cert });
    await new Promise<void>((resolve) => foreign.listen(0, '127.0.0.1', resolve));
    const { port } = foreign.address() as AddressInfo;
    // The certificate is for `localhost`.
    expect(await open()(`https://other.test:${port}/client.json`)).toBeUndefined();
    foreign.close();
  });

  test.each<[string | undefined, number]>([
    [undefined, 86_400],
    ['max-age=60', 60],
    ['public, max-age=999999', 86_400],
    ['no-store', 0],
    ['max-age=60, no-cache', 0],
  ])('with Cache-Control: %s is reused for %i s', async (header, seconds) => {
    const clock = testClock();
    const read = open(clock);
    answering(documentOf(server.address), header === undefined ? {} : { 'cache-control': header });
    await read(server.address);
    if (seconds > 0) {
      clock.advance(seconds * 1_000 - 1);
      await read(server.address);
    }
    expect(server.requested).toHaveLength(1);
    clock.advance(1);
    await read(server.address);
    expect(server.requested).toHaveLength(2);
  });

  test('that can’t be used is read again at the next request', async () => {
    const read = open();
    answering('x');
    expect(await read(server.address)).toBeUndefined();
    server.answer = standard;
    expect(await read(server.address)).toEqual(document);
  });

  test('is read once for requests at the same time', async () => {
    const read = open();
    expect(await Promise.all([1, 2, 3].map(() => read(server.address)))).toEqual([document, document, document]);
    expect(server.requested).toHaveLength(1);
  });

  test('of more than 100 hosts pushes out the oldest', async () => {
    const read = open();
    for (let n = 0; n <= 100; n += 1) await read(`${server.address}?${n}`);
    server.requested.length = 0;
    for (let n = 1; n <= 100; n += 1) await read(`${server.address}?${n}`);
    expect(server.requested).toHaveLength(0);
    await read(`${server.address}?0`);
    expect(server.requested).toHaveLength(1);
  });

  test('that was read again counts as the newest', async () => {
    const clock = testClock();
    const read = open(clock);
    server.answer = (request, response) => {
      if (request.url?.endsWith('?0')) response.setHeader('cache-control', 'max-age=60');
      standard(request, response);
    };
    for (let n = 0; n < 100; n += 1) await read(`${server.address}?${n}`);
    clock.advance(60_000);
    await read(`${server.address}?0`);
    await read(`${server.address}?100`);
    server.requested.length = 0;
    await read(`${server.address}?0`);
    expect(server.requested).toHaveLength(0);
    await read(`${server.address}?1`);
    expect(server.requested).toHaveLength(1);
  });

  test.each([undefined, 5, '', 'a\u202Eb', 'x'.repeat(101), ' Claude'])(
    'with the name %o has no name',
    async (client_name) => {
      answering(documentOf(server.address, { client_name }));
      expect(await open()(server.address)).toEqual({ ...document, name: undefined });
    },
  );
});

describe('publicLookup', () => {
  const PRIVATE = [
    ...['127.0.0.1', '127.255.255.254', '0.0.0.0', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1'],
    ...['169.254.169.254', '100.64.0.1', '192.0.0.8', '198.18.0.1', '224.0.0.1', '240.0.0.1', '255.255.255.255'],
    ...['::1', '::', '::127.0.0.1', '::ffff:127.0.0.1', '::ffff:10.0.0.1', '::ffff:a9fe:a9fe', '64:ff9b::7f00:1'],
    ...[
      '2002:7f00:1::',
      '2001::1',
      'fc00::1',
      'fd00:ec2::254',
      'fe80::1',
      'fec0::1',
      'ff02::1',
      '100::1',
      'fe80::1%eth0',
    ],
    ...['', 'localhost', '127.1', '0x7f000001'],
  ];
  const PUBLIC = ['93.184.216.34', '8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '::ffff:8.8.8.8'];

  test.each(PRIVATE)('refuses %o', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  test.each(PUBLIC)('accepts %s', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  const finding =
    (...addresses: string[]): LookupFunction =>
    (_name, _options, found) =>
      found(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      );
  const ask = (lookup: LookupFunction, all: boolean) =>
    new Promise((resolve) => lookup('chat.example', { all }, (...result) => resolve(result)));

  test('returns the checked addresses, as they are wanted', async () => {
    const lookup = publicLookup(finding('8.8.8.8', '2606:4700::1111'));
    expect(await ask(lookup, false)).toEqual([null, '8.8.8.8', 4]);
    expect(await ask(lookup, true)).toEqual([
      null,
      [
        { address: '8.8.8.8', family: 4 },
        { address: '2606:4700::1111', family: 6 },
      ],
    ]);
  });

  test.each([[['8.8.8.8', '127.0.0.1']], [['::1', '2606:4700::1111']], [[]]])(
    'fails if a name has the addresses %j',
    async (addresses) => {
      for (const all of [false, true]) {
        expect(await ask(publicLookup(finding(...addresses)), all)).toEqual([expect.any(Error), '']);
      }
    },
  );

  test('fails if the name can’t be resolved', async () => {
    const gone = Object.assign(new Error('gone'), { code: 'ENOTFOUND' });
    expect(
      await ask(
        publicLookup((_name, _options, found) => found(gone, '')),
        true,
      ),
    ).toEqual([gone, '']);
  });

  test('lets no document be read from this machine, whatever its name', async () => {
    expect(await open(testClock(), publicLookup(lookupHere))(server.address)).toBeUndefined();
    const read = openClientDocuments({ clock: systemClock, lookup: publicLookup() });
    expect(await read(server.address)).toBeUndefined();
    expect(server.requested).toEqual([]);
  });
});
