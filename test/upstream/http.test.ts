import { createServer as createHttpServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { packageVersion } from '../../src/project.ts';
import { openHttpUpstream } from '../../src/upstream/http.ts';
import type { RemoteUpstream } from '../../src/upstream/upstream.ts';
import { freePort } from '../support/free-port.ts';
import { answering, type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';
import { eventOf, freely, lead } from './event.ts';

const secret = Buffer.from('a secret of the operator and the upstream');
const subscription = eventOf('e-1', 'subscriber.created');
/** The time at which `Retry-After` is read. */
const ASKED = new Date('2026-09-01T12:00:00.000Z');

let receiver: ProgrammableUpstream;
let upstream: RemoteUpstream;
/** Returns the oldest form of an HTTP date, as in `Sun Nov  6 08:49:37 1994` (GMT). */
function asctime(date: Date): string {
  const [weekday = '', day = '', month, year, time] = date.toUTCString().split(' ');
  return `${weekday.slice(0, 3)} ${month} ${String(Number(day)).padStart(2)} ${time} ${year}`;
}

const open = (url: string, timeoutMs = 400) =>
  openHttpUpstream({ url, secrets: [secret], timeoutMs, clock: systemClock });

beforeEach(async () => {
  receiver = await startUpstream();
  upstream = open(receiver.url);
});
afterEach(async () => {
  await upstream.close();
  await receiver.close();
});

describe('deliver, request (reference §10.1)', () => {
  test('sends one signature for each key, and each key verifies the event alone', async () => {
    const secrets = [secret, Buffer.alloc(32, 'new'), Buffer.alloc(24, 'next')];
    const several = openHttpUpstream({ url: receiver.url, secrets, timeoutMs: 400, clock: systemClock });
    await several.deliver(lead, freely);
    await several.close();
    const { headers, body } = receiver.delivered[0] ?? expect.fail();
    expect(headers['webhook-signature']).toMatch(/^v1,[\w+/]{43}= v1,[\w+/]{43}= v1,[\w+/]{43}=$/);
    for (const key of secrets) {
      const verified = new Webhook(key.toString('base64')).verify(body, headers as Record<string, string>);
      expect(verified).toEqual(JSON.parse(lead.body));
    }
  });

  test('sends the headers of the operator with every event, in addition to the service’s own headers', async () => {
    const headers = [
      ['Authorization', 'Bearer a, "b"'],
      ['X-Gateway', 'g:1'],
    ] as const;
    const options = { url: receiver.url, secrets: [secret], headers, timeoutMs: 400, clock: systemClock };
    const own = openHttpUpstream(options);
    await own.deliver(lead, { ...freely, traceparent: '00-1-2-01' });
    await own.deliver(subscription, freely);
    await own.close();
    const plain = open(receiver.url);
    await plain.deliver(lead, freely);
    await plain.close();
    const [first, second, without] = receiver.delivered;
    for (const delivered of [first, second]) {
      expect(delivered?.headers).toMatchObject({ authorization: 'Bearer a, "b"', 'x-gateway': 'g:1' });
      expect(Object.keys(delivered?.headers ?? {})).toEqual(
        expect.arrayContaining(Object.keys(without?.headers ?? {})),
      );
    }
    expect(first?.headers).toMatchObject({ 'content-type': 'application/json', traceparent: '00-1-2-01' });
    expect(without?.headers).not.toHaveProperty('authorization');
  });

  test('signs so that the standardwebhooks package verifies the event', async () => {
    await upstream.deliver(lead, freely);
    const { headers, body } = receiver.delivered[0] ?? expect.fail();
    const verified = new Webhook(secret.toString('base64')).verify(body, headers as Record<string, string>);
    expect(verified).toEqual(JSON.parse(lead.body));
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'webhook-id': 'e-1',
      'idempotency-key': 'e-1',
      'user-agent': `lead-intake/${packageVersion()}`,
    });
    expect(() =>
      new Webhook(secret.toString('base64')).verify(body.replace('Ada', 'Eve'), headers as Record<string, string>),
    ).toThrow();
  });

  test('sends no signature without a secret, and forwards a traceparent', async () => {
    const unsigned = openHttpUpstream({ url: receiver.url, secrets: [], timeoutMs: 400, clock: systemClock });
    await unsigned.deliver(lead, { ...freely, traceparent: '00-1-2-01' });
    await unsigned.close();
    expect(receiver.delivered[0]?.headers).not.toHaveProperty('webhook-signature');
    expect(receiver.delivered[0]?.headers.traceparent).toBe('00-1-2-01');
    await upstream.deliver(lead, freely);
    expect(receiver.delivered[1]?.headers).not.toHaveProperty('traceparent');
  });
});

describe('deliver, outcomes (reference §10.3)', () => {
  test.each([200, 201, 202, 204, 299])('returns confirmed for %i', async (status) => {
    receiver.answer = answering(status);
    expect(await upstream.deliver(lead, freely)).toEqual({ kind: 'confirmed', known: false, status });
  });

  test('for 409, returns confirmed as known for a subscriber, and rejected for a lead', async () => {
    receiver.answer = answering(409);
    expect(await upstream.deliver(subscription, freely)).toEqual({ kind: 'confirmed', known: true, status: 409 });
    expect(await upstream.deliver(lead, freely)).toEqual({ kind: 'rejected', status: 409 });
  });

  test.each([400, 402, 405, 409, 410, 413, 418, 422, 451, 499])(
    'returns rejected with the status for %i',
    async (status) => {
      receiver.answer = answering(status);
      expect(await upstream.deliver(lead, freely)).toEqual({ kind: 'rejected', status });
    },
  );

  test.each([301, 302, 303, 307, 308, 304, 401, 403, 404, 407, 408, 500, 502, 503, 599])(
    'returns unconfirmed for %i and never follows it',
    async (status) => {
      receiver.answer = answering(status, { location: `${receiver.url}/again` });
      expect(await upstream.deliver(lead, freely)).toMatchObject({ kind: 'unconfirmed' });
      expect(receiver.delivered).toHaveLength(1);
    },
  );

  test.each([
    [302, 'confirmed'],
    [303, 'confirmed'],
    [307, 'unconfirmed'],
  ])('for %i, returns %s and does not follow the redirect, with UPSTREAM_REDIRECT=confirmed', async (status, kind) => {
    const { url } = receiver;
    receiver.answer = answering(status, { location: `${url}/again` });
    const options = { url, secrets: [secret], timeoutMs: 5_000, clock: systemClock } as const;
    const trusting = openHttpUpstream({ ...options, redirect: 'confirmed' });
    expect((await trusting.deliver(lead, freely)).kind).toBe(kind);
    await trusting.close();
    expect(receiver.delivered).toHaveLength(1);
  });

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
  ])('reads the Retry-After %j of a 429 as %i seconds', async (header, seconds) => {
    receiver.answer = answering(429, { 'retry-after': header });
    const clock = { ...systemClock, now: () => ASKED };
    const dated = openHttpUpstream({ url: receiver.url, secrets: [secret], timeoutMs: 5_000, clock });
    expect(await dated.deliver(lead, freely)).toEqual({
      kind: 'rateLimited',
      retryAfterSeconds: seconds,
      status: 429,
    });
    await dated.close();
  });

  test('uses one second for a 429 without Retry-After', async () => {
    receiver.answer = answering(429);
    expect(await upstream.deliver(lead, freely)).toEqual({
      kind: 'rateLimited',
      retryAfterSeconds: 1,
      status: 429,
    });
  });

  test('returns unconfirmed after the timeout if no answer comes', async () => {
    receiver.answer = () => {};
    const before = performance.now();
    expect(await upstream.deliver(lead, freely)).toMatchObject({ kind: 'unconfirmed' });
    expect(performance.now() - before).toBeLessThan(1_500);
  });

  test('returns confirmed at once for a 200 with an endless body, and closes its connection', async () => {
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
    expect(await upstream.deliver(lead, freely)).toEqual({ kind: 'confirmed', known: false, status: 200 });
    await closed;
  });

  test('delivers 130 events at once although the bodies of all answers never end', async () => {
    const timers: NodeJS.Timeout[] = [];
    receiver.answer = (response) => {
      response.writeHead(200);
      timers.push(setInterval(() => response.write('x'), 100));
    };
    const confirmed = { kind: 'confirmed', known: false, status: 200 };
    const patient = open(receiver.url, 5_000);
    const outcomes = await Promise.all(Array.from({ length: 130 }, () => patient.deliver(lead, freely)));
    expect(outcomes).toEqual(outcomes.map(() => confirmed));
    await patient.close();
    for (const timer of timers) clearInterval(timer);
  });

  test('returns confirmed at once for a 200 whose body stalls', async () => {
    receiver.answer = (response) => void response.writeHead(200).write('x');
    expect(await upstream.deliver(lead, freely)).toEqual({ kind: 'confirmed', known: false, status: 200 });
  });

  test('returns unconfirmed after the timeout for endless 103 answers', async () => {
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
    ['an empty answer', ''],
  ])('returns unconfirmed for %s', async (_name, bytes) => {
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

  test('returns unconfirmed with a code but no address if the connection fails', async () => {
    for (const [url, code] of [
      ['http://127.0.0.1:1/', /ECONNREFUSED/],
      ['http://no-such-host.invalid/', /ENOTFOUND|EAI_AGAIN/],
    ] as const) {
      const nowhere = open(url, 5_000);
      const outcome = await nowhere.deliver(lead, freely);
      expect(outcome).toMatchObject({
        kind: 'unconfirmed',
        reason: expect.stringMatching(/^The request to the upstream failed: [A-Z_]+\.$/),
      });
      expect(JSON.stringify(outcome)).toMatch(code);
      expect(JSON.stringify(outcome)).not.toMatch(/127|invalid/);
      await nowhere.close();
    }
  });
});

describe('deliver, events that are proven unsent', () => {
  test.each([
    ['a refused connection', 'http://127.0.0.1:1/'],
    ['an unknown host', 'http://no-such-host.invalid/'],
  ])('returns unsent for %s after a second try', async (_name, url) => {
    const pauses: number[] = [];
    const clock = {
      ...systemClock,
      sleep: (ms: number) => {
        pauses.push(ms);
        return systemClock.sleep(ms);
      },
    };
    const nowhere = openHttpUpstream({ url, secrets: [secret], timeoutMs: 5_000, clock });
    const outcome = await nowhere.deliver(lead, freely);
    await nowhere.close();
    expect(outcome).toMatchObject({ kind: 'unconfirmed', unsent: true });
    expect(pauses).toEqual([500]);
  });

  test('delivers once, under the same id, if the receiver restarts before the second try', async () => {
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
    expect(await delivering).toEqual({ kind: 'confirmed', known: false, status: 200 });
    expect(ids).toEqual(['e-1']);
    await restarting.close();
    server.close();
  });

  test('checks the lease again before the second try', async () => {
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

  test('returns unconfirmed without unsent for a missing answer, a reset or a 500', async () => {
    const answers = [() => {}, (response: ServerResponse) => response.destroy(), answering(500)];
    for (const answer of answers) {
      receiver.answer = answer;
      expect(await upstream.deliver(lead, freely)).not.toHaveProperty('unsent');
    }
    expect(receiver.delivered).toHaveLength(3);
  });

  test('returns unconfirmed at once after a reset, without a second try', async () => {
    receiver.answer = (response) => response.destroy();
    const patient = open(receiver.url, 5_000);
    expect(await patient.deliver(lead, freely)).toEqual({
      kind: 'unconfirmed',
      reason: 'The request to the upstream failed: UND_ERR_SOCKET.',
      code: 'UND_ERR_SOCKET',
    });
    expect(receiver.delivered).toHaveLength(1);
    await patient.close();
  });

  test('does not try again after the timeout', async () => {
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

describe('deliver, Date header of the answer', () => {
  const heardFrom = async (headers: Record<string, string>) => {
    receiver.answer = answering(200, headers);
    const heard: number[] = [];
    await upstream.deliver(lead, { ...freely, onServerTime: (time) => heard.push(time) });
    return heard;
  };

  test('passes the time of the header to onServerTime', async () => {
    expect(await heardFrom({ date: 'Sun, 06 Nov 1994 08:49:37 GMT' })).toEqual([784_111_777_000]);
  });

  test('passes NaN to onServerTime for an invalid date', async () => {
    expect(await heardFrom({ date: 'about 3' })).toEqual([Number.NaN]);
  });
});

describe('deliver, lease (reference §5.11)', () => {
  test('sends nothing if the lease leaves no time', async () => {
    expect(await upstream.deliver(lead, { mayStart: () => false })).toEqual({
      kind: 'unconfirmed',
      reason: 'The lease left no time to send.',
      unsent: true,
    });
    expect(receiver.delivered).toHaveLength(0);
  });

  test('checks the lease after the connection has opened', async () => {
    let asked = 0;
    await upstream.deliver(lead, { mayStart: () => ++asked > 0 });
    expect(asked).toBe(1);
    expect(receiver.delivered).toHaveLength(1);
  });
});
