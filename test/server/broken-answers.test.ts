/** Answers to what Node.js can't parse (reference §3.5), on a connection that the test controls. */
import type { ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { brokenRequestAnswerer, openConnections } from '../../src/server/connections.ts';
import { testClock } from '../support/clock.ts';

const lines: Record<string, unknown>[] = [];

/** Returns a connection, what it was answered, and a function that answers an error with this code on it. */
function openBroken() {
  const connections = openConnections({ ...testClock(), after: () => () => {} });
  const answerBroken = brokenRequestAnswerer({
    connections,
    renderProblemPage: (problem) => JSON.stringify(problem),
    log: { info: (entry: object, text: string) => lines.push({ ...entry, text }) } as never,
    sameOnEvery: { 'x-same': 'yes' },
    baseUrl: 'https://paint.example',
  });
  const socket = new PassThrough();
  return {
    socket,
    /** Begins a request. Its body has not arrived, unless it is answered. */
    begin: (path: string, headers: Record<string, string>, isAnswered = false) => {
      const req = { socket, complete: isAnswered, url: path, headers };
      const response = { req, headersSent: isAnswered, writableFinished: isAnswered };
      connections.trackRequest(response as unknown as ServerResponse, 'id-of-the-request');
    },
    answer: (code: string) => {
      answerBroken(Object.assign(new Error('broken'), { code }), socket);
      const [head = '', body = ''] = String(socket.read() ?? '').split('\r\n\r\n');
      return { head: head.split('\r\n'), body };
    },
  };
}

test.each([
  ['HPE_INVALID_METHOD', '400 Bad Request'],
  ['HPE_HEADER_OVERFLOW', '431 Request Header Fields Too Large'],
  ['ERR_HTTP_REQUEST_TIMEOUT', '408 Request Timeout'],
])('an error with the code %s is answered with %s, in JSON, and logged', (code, status) => {
  const { answer } = openBroken();
  const { head, body } = answer(code);
  expect(head[0]).toBe(`HTTP/1.1 ${status}`);
  expect(head).toEqual(expect.arrayContaining(['x-same: yes', 'content-type: application/json; charset=utf-8']));
  expect(head).toEqual(expect.arrayContaining(['cache-control: no-store', 'connection: close']));
  expect(head).toContain(`content-length: ${Buffer.byteLength(body)}`);
  expect(JSON.parse(body).error).toEqual(expect.any(String));
  expect(head).toContain(`x-request-id: ${lines.at(-1)?.requestId}`);
  expect(lines.at(-1)).toEqual({
    requestId: expect.any(String),
    status: Number(status.slice(0, 3)),
    text: 'invalid request refused',
  });
});

test('a reset connection is destroyed without an answer', () => {
  const { answer, socket } = openBroken();
  expect(answer('ECONNRESET')).toEqual({ head: [''], body: '' });
  expect(socket.destroyed).toBe(true);
});

test('a connection that can’t be written to is destroyed without an answer', () => {
  const { answer, socket } = openBroken();
  socket.end();
  expect(answer('HPE_INVALID_METHOD')).toEqual({ head: [''], body: '' });
  expect(socket.destroyed).toBe(true);
});

test('an incomplete native form gets a page with the sentence of its refusal', () => {
  const { begin, answer } = openBroken();
  begin('/api/leads', { 'content-type': 'application/x-www-form-urlencoded' });
  const { head, body } = answer('HPE_INVALID_EOF_STATE');
  expect(head).toEqual(expect.arrayContaining(['content-type: text/html; charset=utf-8', 'vary: Accept']));
  expect(head).toContain('x-request-id: id-of-the-request');
  expect(JSON.parse(body)).toEqual({ status: 400, sentence: expect.stringMatching(/\w+ .*\.$/), typed: true });
});

test('an incomplete request that accepts problem details gets them, with the id of the request', () => {
  const { begin, answer } = openBroken();
  begin('/api/leads', { 'content-type': 'application/json', accept: 'application/problem+json' });
  const { head, body } = answer('HPE_INVALID_EOF_STATE');
  expect(head).toContain('content-type: application/problem+json; charset=utf-8');
  const type = expect.stringMatching(/^https:\/\/paint\.example\//);
  expect(JSON.parse(body)).toMatchObject({ type, status: 400, request_id: 'id-of-the-request' });
});

test('an incomplete request of a path without problem details gets JSON, and no Vary header', () => {
  const { begin, answer } = openBroken();
  begin('/operator', { accept: 'application/problem+json' });
  const { head } = answer('HPE_INVALID_EOF_STATE');
  expect(head).toContain('content-type: application/json; charset=utf-8');
  expect(head).not.toContain('vary: Accept');
});

test('broken bytes after an answered request get JSON and an id of their own', () => {
  const { begin, answer } = openBroken();
  begin('/api/leads', { 'content-type': 'application/x-www-form-urlencoded' }, true);
  const { head } = answer('HPE_INVALID_METHOD');
  expect(head).toContain('content-type: application/json; charset=utf-8');
  expect(head).not.toContain('x-request-id: id-of-the-request');
  expect(head).not.toContain('vary: Accept');
});
