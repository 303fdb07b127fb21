/** Functions that read a request or a response, over real connections (reference §3.2, §3.12). */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import { headerLines, readBody } from '../../src/http/request.ts';
import { readBody as readResponse } from '../../src/http/response.ts';
import { checkSameOrigin, sentForm } from '../../src/http/same-origin.ts';
import { atEndOfFile } from '../support/leftovers.ts';
import { exchange, openWire } from '../support/wire.ts';

const MAXIMUM = 10;
const OURS = 'https://paint.example';

let url: string;
let read: (request: IncomingMessage) => unknown;
beforeAll(async () => {
  const server = createServer({ optimizeEmptyRequests: true }, async (request, response) => {
    const text = JSON.stringify(await Promise.resolve(request).then(read).catch(String));
    response.writeHead(200, { 'content-length': Buffer.byteLength(text), connection: 'close' }).end(text);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEndOfFile(() => server.close());
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

/** Returns the value that a function returns for a request with these header lines and this body. */
async function ask(of: typeof read, headers: readonly string[], body = ''): Promise<unknown> {
  read = of;
  const [reply] = await exchange(url, ['POST / HTTP/1.1', 'Host: x', ...headers, '', body].join('\r\n'));
  return JSON.parse(reply?.body ?? 'null');
}

const chunked = (...chunks: string[]) =>
  [...chunks, ''].map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('');
const CHUNKED = 'Transfer-Encoding: chunked';

describe('readBody of a request', { timeout: 2_000 }, () => {
  const bodyOf = async (request: IncomingMessage) => {
    const body = await readBody(request, MAXIMUM);
    return body.kind === 'read' ? `read ${body.bytes}` : body.kind;
  };

  test.each<[string, string, string[], string]>([
    ['the bytes of a body of the maximum size', 'read 0123456789', ['Content-Length: 10'], '0123456789'],
    ['the bytes of chunks in their order', 'read 0123456789', [CHUNKED], chunked('012', '3456', '789')],
    ['no bytes if no body is announced', 'read ', [], ''],
    ['no bytes of an empty body', 'read ', [CHUNKED], chunked()],
    ['the bytes of UTF-8', 'read ab', ['Content-Type: text/plain; charset=utf-8', 'Content-Length: 2'], 'ab'],
    [
      'the bytes of UTF-8 for two content types',
      'read ab',
      ['Content-Type: text/plain; charset=utf-8', 'Content-Type: a/b; charset=utf-8', 'Content-Length: 2'],
      'ab',
    ],
    ['contentEncoding', 'contentEncoding', ['Content-Encoding: identity', 'Content-Length: 2'], 'ab'],
    ['charset', 'charset', ['Content-Type: text/plain; charset=latin1', 'Content-Length: 2'], 'ab'],
    [
      'charset for the second content type',
      'charset',
      ['Content-Type: text/plain', 'Content-Type: text/plain; charset=latin1', 'Content-Length: 2'],
      'ab',
    ],
    ['bodyTooLarge for one chunk over the maximum', 'bodyTooLarge', [CHUNKED], chunked('0123456789a')],
    ['bodyTooLarge for chunks over the maximum', 'bodyTooLarge', [CHUNKED], chunked('0123456789', 'a')],
    ['bodyTooLarge before it reads an announced body', 'bodyTooLarge', ['Content-Length: 11'], ''],
  ])('returns %s', async (_name, result, headers, body) => {
    expect(await ask(bodyOf, headers, body)).toBe(result);
  });

  test.each<[string, (request: IncomingMessage, client: Socket) => unknown]>([
    ['the client disconnects', (_request, client) => client.resetAndDestroy()],
    ['the service gives it up', (request) => request.destroy()],
  ])('returns bodyAborted if %s before the end of the body', async (_name, end) => {
    const body = new Promise((resolve) => {
      read = async (request) => {
        const reading = bodyOf(request);
        end(request, wire.socket);
        const result = await reading;
        resolve(result);
        return result;
      };
    });
    const wire = await openWire(url);
    wire.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nab');
    expect(await body).toBe('bodyAborted');
  });
});

describe('headerLines', { timeout: 2_000 }, () => {
  test('returns every line of a header in its order, however its name is written', async () => {
    const lines = ['Accept: a', 'ACCEPT: b', 'Accept-Language: c', 'X-Named: accept', 'Xccept: d', 'accept: a'];
    expect(await ask((request) => headerLines(request, 'accept'), lines)).toEqual(['a', 'b', 'a']);
    expect(await ask((request) => headerLines(request, 'cookie'), lines)).toEqual([]);
  });
});

describe('checkSameOrigin', { timeout: 2_000 }, () => {
  const site = (value: string) => `Sec-Fetch-Site: ${value}`;
  const from = (value: string) => `Origin: ${value}`;

  test.each<[boolean, string, string[]]>([
    [true, 'same-origin', [site('same-origin')]],
    [true, 'same-origin twice', [site('same-origin'), site('same-origin')]],
    [true, 'same-origin and a foreign Origin', [site('same-origin'), from('https://evil.example')]],
    [true, 'our Origin', [from(OURS)]],
    [false, 'neither header', []],
    [false, 'same-site', [site('same-site')]],
    [false, 'cross-site and our Origin', [site('cross-site'), from(OURS)]],
    [false, 'same-origin and then cross-site', [site('same-origin'), site('cross-site')]],
    [false, 'cross-site and then same-origin', [site('cross-site'), site('same-origin')]],
    [false, 'an opaque Origin', [from('null')]],
    [false, 'a longer Origin', [from(`${OURS}.evil.example`)]],
    [false, 'our Origin twice', [from(OURS), from(OURS)]],
    [false, 'our Origin and then a foreign one', [from(OURS), from('https://evil.example')]],
  ])('returns isFromOurPage: %s for %s', async (isFromOurPage, _name, headers) => {
    const check = (request: IncomingMessage) => checkSameOrigin(request, OURS);
    expect(await ask(check, headers)).toEqual({ isFromOurPage, isSigned: false });
    expect(await ask(check, [...headers, 'Signature-Agent: "x"'])).toEqual({ isFromOurPage, isSigned: true });
  });
});

describe('sentForm', () => {
  const headers = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' };
  const form = sentForm(headers, Buffer.from('\ufeffa=1&b=2&b=3&c=')) ?? expect.fail('no form');

  test('returns the value of a name that came once, and null for any other name', () => {
    expect(['a', 'b', 'c', 'd'].map(form)).toEqual(['1', null, '', null]);
  });

  test('returns all values of a name, and all names', () => {
    expect(['a', 'b', 'c', 'd'].map(form.all)).toEqual([['1'], ['2', '3'], [''], []]);
    expect([...form.values.keys()]).toEqual(['a', 'b', 'b', 'c']);
  });

  test('returns undefined for another type, a missing type and invalid UTF-8', () => {
    expect(sentForm({ 'content-type': 'text/plain' }, Buffer.from('a=1'))).toBeUndefined();
    expect(sentForm({}, Buffer.from('a=1'))).toBeUndefined();
    expect(sentForm(headers, Buffer.from([0x61, 0x3d, 0xc3]))).toBeUndefined();
  });
});

describe('readBody of a response', () => {
  test('returns the bytes up to the maximum, and undefined for one byte more', async () => {
    const parts = (...texts: string[]) => new Response(ReadableStream.from(texts.map((text) => Buffer.from(text))));
    expect((await readResponse(parts('01234', '56789'), MAXIMUM))?.toString()).toBe('0123456789');
    expect(await readResponse(parts('01234', '56789', 'a'), MAXIMUM)).toBeUndefined();
    expect((await readResponse(parts(), MAXIMUM))?.toString()).toBe('');
    expect((await readResponse(new Response(null), MAXIMUM))?.toString()).toBe('');
  });
});
