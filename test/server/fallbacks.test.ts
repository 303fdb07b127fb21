/** Answers that belong to no route: pages of refusals, errors of the store, and errors that nobody expected. */
import { describe, expect, test } from 'vitest';
import { StorageUnavailable } from '../../src/storage/database.ts';
import { call, executeAction, previewAction, quote } from '../support/agent.ts';
import { scenario } from '../support/scenario.ts';
import { errorsIn } from '../support/service.ts';
import { exchange } from '../support/wire.ts';

const at = scenario();

const BACK_BUTTON = 'Everything you typed is still there.';
const NATIVE = 'Content-Type: application/x-www-form-urlencoded\r\n';

/** Sends a request with two hosts, which the service refuses before any route. */
const twoHosts = async (line: string, headers = '') => {
  const [reply] = await exchange(
    at.service.url,
    `${line} HTTP/1.1\r\nHost: x\r\nHost: y\r\nAccept: text/html\r\n${headers}Content-Length: 0\r\n\r\n`,
  );
  return reply ?? expect.fail();
};

describe('a refusal', () => {
  test('is a page that mentions what the person typed only after the post of a form', async () => {
    const posted = await twoHosts('POST /api/leads', NATIVE);
    expect([posted.status, posted.headers.connection]).toEqual([400, 'close']);
    expect(posted.body).toContain(BACK_BUTTON);
    for (const other of [
      await twoHosts('GET /quote'),
      await twoHosts('POST /quote', NATIVE),
      await twoHosts('GET /api/leads'),
    ]) {
      expect(other.status).toBe(400);
      expect(other.body).not.toContain(BACK_BUTTON);
    }
  });

  test('does not follow a request without Host by HTTP/1.0, or with one Host', async () => {
    for (const [request, status] of [
      ['GET /healthz HTTP/1.0\r\n\r\n', 200],
      ['GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 200],
    ] as const) {
      const [reply] = await exchange(at.service.url, request);
      expect([request, reply?.status]).toEqual([request, status]);
    }
  });

  test('follows every transfer coding except chunked', async () => {
    for (const [coding, status] of [
      ['gzip, chunked', 400],
      ['Chunked', 405],
    ] as const) {
      const head = `POST /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: ${coding}\r\n\r\n`;
      const [reply] = await exchange(at.service.url, `${head}0\r\n\r\n`);
      expect([coding, reply?.status]).toEqual([coding, status]);
    }
  });

  test('names all methods of the path in their order', async () => {
    const { status, headers } = await call(at.service, '/newsletter/confirm/x', { method: 'PUT' });
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD, POST']);
    const confirmation = await call(at.service, '/api/agent/confirmations/x', { method: 'POST' });
    expect([confirmation.status, confirmation.headers.get('allow')]).toEqual([405, 'DELETE, GET, HEAD']);
  });
});

describe('an error inside a route', () => {
  const failWith = async (error: unknown) => {
    const { body } = await previewAction(at.service, 'homeowner_quote', quote);
    const { storage } = at.service.parts;
    const { read } = storage;
    at.service.logs.length = 0;
    storage.read = () => Promise.reject(error);
    try {
      return await executeAction(at.service, body.preview_id, { key: 'fallbacks' });
    } finally {
      storage.read = read;
    }
  };
  const logged = () => errorsIn(at.service.logs).map((line) => JSON.parse(line));

  test('of the store answers 503, and is logged once with the request id', async () => {
    const { status, headers, text } = await failWith(new StorageUnavailable('The disk is gone.'));
    expect(status).toBe(503);
    expect(text).not.toContain('disk');
    const requestId = headers.get('x-request-id');
    expect(logged()).toMatchObject([
      { msg: 'the store is unavailable', requestId, err: { message: 'The disk is gone.' } },
    ]);
  });

  test.each([
    ['an error', new Error('A secret.'), { message: 'A secret.' }],
    [
      'an error with a code',
      Object.assign(new Error('A secret.'), { code: 'EACCES', statusCode: 400 }),
      { code: 'EACCES' },
    ],
    ['an error of Fastify for the server', Object.assign(new Error('x'), { code: 'FST_ERR_X', statusCode: 500 }), {}],
    ['an error of Fastify without a status', Object.assign(new Error('x'), { code: 'FST_ERR_X' }), {}],
  ])('that nobody expected answers 500, and is logged once with the request id: %s', async (_name, error, err) => {
    const { status, headers, text } = await failWith(error);
    expect(status).toBe(500);
    expect(text).not.toContain('secret');
    const requestId = headers.get('x-request-id');
    expect(logged()).toMatchObject([{ msg: 'unexpected error', requestId, err }]);
  });

  test('of Fastify about the request answers 400, and is not logged', async () => {
    const refused = Object.assign(new Error('x'), { code: 'FST_ERR_X', statusCode: 499 });
    expect((await failWith(refused)).status).toBe(400);
    expect(logged()).toEqual([]);
  });

  test('that is undefined answers 500, and is logged', async () => {
    expect((await failWith(undefined)).status).toBe(500);
    expect(logged()).toMatchObject([{ msg: 'unexpected error' }]);
  });
});
