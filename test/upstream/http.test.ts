import { createServer as createHttpServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { openHttpUpstream } from '../../src/upstream/http.ts';
import type { RemoteUpstream } from '../../src/upstream/upstream.ts';
import { freePort } from '../support/free-port.ts';
import { answering, type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';
import { eventOf, freely, lead } from './event.ts';

const secret = Buffer.from('a secret of the operator and the upstream');
const subscription = eventOf('e-1', 'subscriber.created');
/** When `Retry-After` is read. */
const ASKED = new Date('2026-09-01T12:00:00.000Z');

let receiver: ProgrammableUpstream;
let upstream: RemoteUpstream;
/** The oldest form of an HTTP date: `Sun Nov  6 08:49:37 1994`, in GMT. */
function asctime(date: Date): string {
  const [weekday = '', day = '', month, year, time] = date.toUTCString().split(' ');
  return `${weekday.slice(0, 3)} ${month} ${String(Number(day)).padStart(2)} ${time} ${year}`;
}

const open = (url: string, timeoutMs = 400) =>
  openHttpUpstream({ url, secret, timeoutMs, clock: systemClock });

beforeEach(async () => {
  receiver = await startUpstream();
  upstream = open(receiver.url);
});
afterEach(async () => {
  await upstream.close();
  await receiver.close();
});

describe('contract §3: what is sent', () => {
  test('a receiver verifies the signature with the standardwebhooks package', async () => {
    await upstream.deliver(lead, freely);
    const { headers, body } = receiver.delivered[0] ?? expect.fail();
    const verified = new Webhook(secret.toString('base64')).verify(
      body,
      headers as Record<string, string>,
    );
    expect(verified).toEqual(JSON.parse(lead.body));
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'webhook-id': 'e-1',
      'idempotency-key': 'e-1',
    });
    expect(() =>
      new Webhook(secret.toString('base64')).verify(
        body.replace('Ada', 'Eve'),
        headers as Record<string, string>,
      ),
    ).toThrow();
  });

  test('without a secret nothing is signed; a traceparent is sent on', async () => {
    const unsigned = openHttpUpstream({
      url: receiver.url,
      secret: undefined,
      timeoutMs: 400,
      clock: systemClock,
    });
    await unsigned.deliver(lead, { ...freely, traceparent: '00-1-2-01' });
    await unsigned.close();
    expect(receiver.delivered[0]?.headers).not.toHaveProperty('webhook-signature');
    expect(receiver.delivered[0]?.headers.traceparent).toBe('00-1-2-01');
    await upstream.deliver(lead, freely);
    expect(receiver.delivered[1]?.headers).not.toHaveProperty('traceparent');
  });
});

describe('contract §3: every answer has its outcome', () => {
  test.each([200, 201, 202, 204, 299])('%i is confirmed', async (status) => {
    receiver.answer = answering(status);
    expect(await upstream.deliver(lead, freely)).toEqual({ kind: 'confirmed', known: false });
  });

  test('409 to a subscriber is confirmed as known, to a lead it is rejected', async () => {
    receiver.answer = answering(409);
    expect(await upstream.deliver(subscription, freely)).toEqual({
      kind: 'confirmed',
      known: true,
    });
    expect(await upstream.deliver(lead, freely)).toEqual({ kind: 'rejected', status: 409 });
  });

  test.each([400, 402, 405, 409, 410, 413, 418, 422, 451, 499])(
    '%i is rejected with that status',
    async (status) => {
      receiver.answer = answering(status);
      expect(await upstream.deliver(lead, freely)).toEqual({ kind: 'rejected', status });
    },
  );

  test.each([301, 302, 303, 307, 308, 304, 401, 403, 404, 407, 408, 500, 502, 503, 599])(
    '%i is unconfirmed and never followed',
    async (status) => {
      receiver.answer = answering(status, { location: `${receiver.url}/again` });
      expect(await upstream.deliver(lead, freely)).toMatchObject({ kind: 'unconfirmed' });
      expect(receiver.delivered).toHaveLength(1);
    },
  );

  test.each([
    ['120', 120],
    ['0', 1],
    ['-1', 1],
    ['1e12', 1],
    ['999999999999', 86_400],
    ['86401', 86_400],
    ['', 1],
    ['soon', 1],
    ['soon 2100', 1],
    ['12/31/2100', 1],
    ['2100-01-01T00:00:00Z', 1],
    ['Thursday, 31-Dec-99 23:59:59 GMT', 1],
    [asctime(new Date(ASKED.getTime() + 60_000)), 60],
    ['Mon Jan 5 2100', 1],
    ['1.5', 1],
    [new Date(ASKED.getTime() + 60_000).toUTCString(), 60],
    [new Date(ASKED.getTime() - 60_000).toUTCString(), 1],
  ])('429 with Retry-After %j waits %i seconds', async (header, seconds) => {
    receiver.answer = answering(429, { 'retry-after': header });
    const clock = { ...systemClock, now: () => ASKED };
    const dated = openHttpUpstream({ url: receiver.url, secret, timeoutMs: 5_000, clock });
    expect(await dated.deliver(lead, freely)).toEqual({
      kind: 'rateLimited',
      retryAfterSeconds: seconds,
    });
    await dated.close();
  });

  test('429 without Retry-After waits one second', async () => {
    receiver.answer = answering(429);
    expect(await upstream.deliver(lead, freely)).toEqual({
      kind: 'rateLimited',
      retryAfterSeconds: 1,
    });
  });

  test('an answer that never comes is unconfirmed after the time-out', async () => {
    receiver.answer = () => {};
    const before = performance.now();
    expect(await upstream.deliver(lead, freely)).toMatchObject({ kind: 'unconfirmed' });
    expect(performance.now() - before).toBeLessThan(1_500);
  });

  test('a 200 with an endless body is confirmed at once, and its connection is given up', async () => {
    const closed = new Promise<void>((resolve) => {
      receiver.answer = (response) => {
        response.writeHead(200, { 'content-encoding': 'gzip' });
        response.on('close', resolve);
        const pour = () => {
          while (!response.destroyed && response.write(Buffer.alloc(16_384)));
        };
        response.on('drain', pour);
        pour();
      };
    });
    expect(await upstream.deliver(lead, freely)).toEqual({ kind: 'confirmed', known: false });
    await closed;
  });

  test('200s whose bodies trickle for ever keep no connection from the next ones', async () => {
    const timers: NodeJS.Timeout[] = [];
    receiver.answer = (response) => {
      response.writeHead(200);
      timers.push(setInterval(() => response.write('x'), 100));
    };
    const confirmed = { kind: 'confirmed', known: false };
    const patient = open(receiver.url, 5_000);
    const outcomes = await Promise.all(
      Array.from({ length: 130 }, () => patient.deliver(lead, freely)),
    );
    expect(outcomes).toEqual(outcomes.map(() => confirmed));
    await patient.close();
    for (const timer of timers) clearInterval(timer);
  });

  test('a 200 whose body stalls is confirmed at once', async () => {
    receiver.answer = (response) => void response.writeHead(200).write('x');
    expect(await upstream.deliver(lead, freely)).toEqual({ kind: 'confirmed', known: false });
  });

  test('endless 103 ends as unconfirmed after the time-out', async () => {
    receiver.answer = (response) => {
      const timer = setInterval(() => response.writeEarlyHints({ link: '</a>; rel=preload' }), 20);
      response.on('close', () => clearInterval(timer));
    };
    expect(await upstream.deliver(lead, freely)).toMatchObject({ kind: 'unconfirmed' });
  });

  test.each([
    ['garbage', 'not http at all\r\n\r\n'],
    ['an upgrade', 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'],
    ['100 KB of headers', `HTTP/1.1 200 OK\r\n${'x-filler: 1234567890\r\n'.repeat(5_000)}\r\n`],
    ['nothing and a closed connection', ''],
  ])('%s is unconfirmed', async (_name, bytes) => {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end(bytes));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const raw = open(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    expect(await raw.deliver(lead, freely)).toMatchObject({ kind: 'unconfirmed' });
    await raw.close();
    server.close();
  });

  test('a refused connection and an unknown host are unconfirmed, without a word about addresses', async () => {
    for (const [url, code] of [
      ['http://127.0.0.1:1/', /ECONNREFUSED/],
      ['http://no-such-host.invalid/', /ENOTFOUND|EAI_AGAIN/],
    ] as const) {
      const nowhere = open(url, 5_000);
      const outcome = await nowhere.deliver(lead, freely);
      expect(outcome).toMatchObject({
        kind: 'unconfirmed',
        reason: expect.stringMatching(/^The upstream could not be asked: [A-Z_]+\.$/),
      });
      expect(JSON.stringify(outcome)).toMatch(code);
      expect(JSON.stringify(outcome)).not.toMatch(/127|invalid/);
      await nowhere.close();
    }
  });
});

describe('what is proven unsent', () => {
  test.each([
    ['a refused connection', 'http://127.0.0.1:1/'],
    ['an unknown host', 'http://no-such-host.invalid/'],
  ])('%s says so, after a second try', async (_name, url) => {
    const pauses: number[] = [];
    const clock = {
      ...systemClock,
      sleep: (ms: number) => {
        pauses.push(ms);
        return systemClock.sleep(ms);
      },
    };
    const nowhere = openHttpUpstream({ url, secret, timeoutMs: 5_000, clock });
    const outcome = await nowhere.deliver(lead, freely);
    await nowhere.close();
    expect(outcome).toMatchObject({ kind: 'unconfirmed', unsent: true });
    expect(pauses).toEqual([500]);
  });

  test('a receiver that was just restarting gets it once, under the same id', async () => {
    const port = await freePort();
    const restarting = open(`http://127.0.0.1:${port}/`, 5_000);
    const delivering = restarting.deliver(lead, freely);
    const ids: unknown[] = [];
    const server = createHttpServer((request, response) => {
      ids.push(request.headers['webhook-id']);
      request.resume().on('end', () => response.end());
    });
    await systemClock.sleep(100);
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    expect(await delivering).toEqual({ kind: 'confirmed', known: false });
    expect(ids).toEqual(['e-1']);
    await restarting.close();
    server.close();
  });

  test('the fence holds for the second try', async () => {
    const port = await freePort();
    let asked = 0;
    const restarting = open(`http://127.0.0.1:${port}/`, 5_000);
    const mayStart = () => {
      asked += 1;
      return false;
    };
    const delivering = restarting.deliver(lead, { mayStart });
    await systemClock.sleep(100);
    const server = createHttpServer(() => expect.fail('Something was sent.'));
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    expect(await delivering).toMatchObject({ kind: 'unconfirmed', unsent: true });
    expect(asked).toBe(1);
    await restarting.close();
    server.close();
  });

  test('what reached a socket is not: an answer that never comes, a reset, a 500', async () => {
    const answers = [() => {}, (response: ServerResponse) => response.destroy(), answering(500)];
    for (const answer of answers) {
      receiver.answer = answer;
      expect(await upstream.deliver(lead, freely)).not.toHaveProperty('unsent');
    }
    expect(receiver.delivered).toHaveLength(3);
  });

  test('a reset is told at once: what may have arrived is not sent a second time', async () => {
    receiver.answer = (response) => response.destroy();
    const patient = open(receiver.url, 5_000);
    expect(await patient.deliver(lead, freely)).toEqual({
      kind: 'unconfirmed',
      reason: 'The upstream could not be asked: UND_ERR_SOCKET.',
    });
    expect(receiver.delivered).toHaveLength(1);
    await patient.close();
  });

  test('nothing is tried again after the time-out', async () => {
    const port = await freePort();
    const hurried = open(`http://127.0.0.1:${port}/`, 100);
    expect(await hurried.deliver(lead, freely)).toMatchObject({ unsent: true });
    const server = createServer((socket) => void socket.on('error', () => {}));
    let connections = 0;
    server.on('connection', () => {
      connections += 1;
    });
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    await systemClock.sleep(600);
    expect(connections).toBe(0);
    await hurried.close();
    server.close();
  });
});

describe('the time that an answer names', () => {
  const heardFrom = async (headers: Record<string, string>) => {
    receiver.answer = answering(200, headers);
    const heard: number[] = [];
    await upstream.deliver(lead, { ...freely, heardTime: (time) => heard.push(time) });
    return heard;
  };

  test('is told to whoever asks', async () => {
    expect(await heardFrom({ date: 'Sun, 06 Nov 1994 08:49:37 GMT' })).toEqual([784_111_777_000]);
  });

  test('is no number where it can’t be read', async () => {
    expect(await heardFrom({ date: 'about 3' })).toEqual([Number.NaN]);
  });
});

describe('contract §4: the lease as a fence', () => {
  test('nothing is sent once the lease leaves no time', async () => {
    expect(await upstream.deliver(lead, { mayStart: () => false })).toEqual({
      kind: 'unconfirmed',
      reason: 'The lease left no time to send.',
      unsent: true,
    });
    expect(receiver.delivered).toHaveLength(0);
  });

  test('the fence is asked when the connection stands, not before', async () => {
    let asked = 0;
    await upstream.deliver(lead, { mayStart: () => ++asked > 0 });
    expect(asked).toBe(1);
    expect(receiver.delivered).toHaveLength(1);
  });
});
