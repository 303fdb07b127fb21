import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { openConnections } from '../../src/server/connections.ts';
import { testClock } from '../support/clock.ts';
import { startService } from '../support/service.ts';
import { openWire } from '../support/wire.ts';

/** Connections that are looked at only when the test says so, with a socket that says what it is told. */
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
  const state = { writableLength: 0, bytesWritten: 0, _handle: { writeQueueSize: 0 } };
  const ended: string[] = [];
  const socket = Object.assign(new EventEmitter(), state, {
    pause: () => ended.push('paused'),
    destroy: () => ended.push('destroyed'),
  });
  const begin = () => {
    const response = { req: { socket }, shouldKeepAlive: true };
    return { response, answered: connections.begin(response as unknown as ServerResponse) };
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

describe('answers that nobody reads (contract §4)', () => {
  test('30 s without a byte of them end the connection, and not a second before', () => {
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

  test.each([
    ['some of a large write', (socket: Sending) => (socket._handle.writeQueueSize -= 1)],
    ['a whole write', (socket: Sending) => (socket.writableLength -= 100)],
  ])('the time begins again where %s has left', (_what, send) => {
    const { socket, ended, begin, lookAfter } = openByHand();
    begin();
    socket.writableLength = 5_000;
    socket._handle.writeQueueSize = 5_000;
    for (let times = 0; times < 4; times += 1) {
      lookAfter(29);
      send(socket);
    }
    expect(ended).toEqual([]);
  });

  test('an answer that is written meanwhile is no sign of a reader', () => {
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

  test('nothing is looked at once the last connection has gone', () => {
    const { socket, begin, lookAfter, timers } = openByHand();
    begin();
    expect(timers()).toBe(1);
    socket.emit('close');
    lookAfter(2);
    expect(timers()).toBe(0);
  });
});

type Sending = { writableLength: number; _handle: { writeQueueSize: number } };

describe('requests that are sent before their turn (contract §4)', () => {
  test('32 wait at most: the last closes the connection, and what comes after is not taken', () => {
    const { ended, begin } = openByHand();
    const taken = Array.from({ length: 32 }, begin);
    expect(taken.every(({ answered }) => answered !== undefined)).toBe(true);
    expect(taken.map(({ response }) => response.shouldKeepAlive)).toEqual([
      ...Array.from({ length: 31 }, () => true),
      false,
    ]);
    for (let n = 0; n < 32; n += 1) expect(begin().answered).toBeUndefined();
    expect(ended).not.toContain('destroyed');
    begin();
    expect(ended).toContain('destroyed');
  });

  test('as many as anybody likes, one after another', () => {
    const { ended, begin } = openByHand();
    for (let n = 0; n < 500; n += 1) {
      const { response, answered } = begin();
      expect(response.shouldKeepAlive).toBe(true);
      answered?.();
    }
    expect(ended).toEqual([]);
  });

  test('over a real connection the first 32 of 40 are answered, the last of them with close', async () => {
    const service = await startService();
    const wire = await openWire(service.url);
    wire.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(40));
    const replies = await wire.closed();
    expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 32 }, () => 200));
    expect(replies.map(({ headers }) => headers.connection).indexOf('close')).toBe(31);
    await service.close();
  });

  test('whatever they ask for: addresses that can’t be read count, too', async () => {
    const service = await startService();
    const wire = await openWire(service.url);
    wire.write('GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(40));
    expect((await wire.closed()).map(({ status }) => status)).toEqual(
      Array.from({ length: 32 }, () => 400),
    );
    await service.close();
  });
});
