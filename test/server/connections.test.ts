import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { openConnections } from '../../src/server/connections.ts';
import { testClock } from '../support/clock.ts';
import { startService } from '../support/service.ts';
import { openWire } from '../support/wire.ts';

/** Opens connections that are checked only on demand, with a programmable socket. */
function openByHand() {
  const clock = testClock();
  let timers: (() => void)[] = [];
  const after = (_ms: number, callback: () => void) => {
    timers.push(callback);
    return () => {
      timers = timers.filter((each) => each !== callback);
    };
  };
  const connections = openConnections({ ...clock, after });
  const state = { writableLength: 0, bytesWritten: 0 };
  const ended: string[] = [];
  const socket = Object.assign(new EventEmitter(), state, {
    pause: () => ended.push('paused'),
    destroy: () => ended.push('destroyed'),
  });
  const begin = () => {
    const response = { req: { socket }, shouldKeepAlive: true };
    const taken = connections.trackRequest(response as unknown as ServerResponse, 'an id');
    return { response, answered: taken?.end };
  };
  return {
    socket,
    ended,
    begin,
    timers: () => timers.length,
    lookAfter(seconds: number) {
      for (let second = 0; second < seconds; second += 1) {
        clock.advance(1_000);
        for (const run of timers.splice(0)) run();
      }
    },
  };
}

describe('connections whose answers nobody reads (reference §3.5)', () => {
  test('are destroyed after 30 s without a sent byte, and not a second earlier', () => {
    const { socket, ended, begin, lookAfter } = openByHand();
    begin();
    lookAfter(100);
    socket.writableLength = 5_000;
    socket.bytesWritten = 9_000;
    lookAfter(30);
    expect(ended).toEqual([]);
    lookAfter(1);
    expect(ended).toEqual(['destroyed']);
  });

  test('get another 30 s after each sent byte', () => {
    const { socket, ended, begin, lookAfter } = openByHand();
    begin();
    socket.writableLength = 5_000;
    for (let times = 0; times < 4; times += 1) {
      lookAfter(29);
      socket.writableLength -= 100;
    }
    expect(ended).toEqual([]);
  });

  test('are destroyed after 30 s without a sent byte, even if new answers are queued meanwhile', () => {
    const { socket, ended, begin, lookAfter } = openByHand();
    begin();
    socket.writableLength = 5_000;
    socket.bytesWritten = 5_000;
    for (let times = 0; times < 31; times += 1) {
      lookAfter(1);
      socket.writableLength += 100;
      socket.bytesWritten += 100;
    }
    expect(ended).toEqual(['destroyed']);
  });

  test('are no longer checked after the last connection has closed', () => {
    const { socket, begin, lookAfter, timers } = openByHand();
    begin();
    expect(timers()).toBe(1);
    socket.emit('close');
    lookAfter(2);
    expect(timers()).toBe(0);
  });
});

describe('connections with pipelined requests (reference §3.5)', () => {
  test('accept 32 waiting requests, close after the 32nd answer and ignore later requests', () => {
    const { ended, begin } = openByHand();
    const taken = Array.from({ length: 32 }, begin);
    expect(taken.every(({ answered }) => answered !== undefined)).toBe(true);
    expect(taken.map(({ response }) => response.shouldKeepAlive)).toEqual([
      ...Array.from({ length: 31 }, () => true),
      false,
    ]);
    for (let n = 0; n < 32; n += 1) expect(begin().answered).toBeUndefined();
    // No more is read from the connection.
    expect(ended).toEqual(Array.from({ length: 32 }, () => 'paused'));
    begin();
    expect(ended.at(-1)).toBe('destroyed');
  });

  test('accept any number of requests if each one is answered before the next', () => {
    const { ended, begin } = openByHand();
    for (let n = 0; n < 500; n += 1) {
      const { response, answered } = begin();
      expect(response.shouldKeepAlive).toBe(true);
      answered?.();
    }
    expect(ended).toEqual([]);
  });

  test('answer the first 32 of 40 requests over a real connection, the 32nd with Connection: close', async () => {
    const service = await startService();
    const wire = await openWire(service.url);
    wire.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(40));
    const replies = await wire.closed();
    expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 32 }, () => 200));
    expect(replies.map(({ headers }) => headers.connection).indexOf('close')).toBe(31);
    await service.close();
  });

  test('include requests with invalid addresses in the limit of 32', async () => {
    const service = await startService();
    const wire = await openWire(service.url);
    wire.write('GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(40));
    expect((await wire.closed()).map(({ status }) => status)).toEqual(Array.from({ length: 32 }, () => 400));
    await service.close();
  });
});
