import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { type Nginx, nginxIsThere, startNginx } from '../support/nginx.ts';

if (!nginxIsThere) console.warn('Skipped: nginx is not there, so deploy/nginx.conf is not tried.');

type Seen = { method: string; url: string; headers: IncomingMessage['headers'] };

/** Starts a substitute for an instance. It records the requests that nginx sends. */
async function startStandIn(seen: Seen[]) {
  const answer: { by: (request: IncomingMessage, response: ServerResponse) => void } = {
    by: (_request, response) => void response.end('ok'),
  };
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const { method = '', url = '', headers } = request;
      seen.push({ method, url, headers });
      answer.by(request, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, port: (server.address() as AddressInfo).port, answer };
}

const close = (server: Server) => {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(resolve));
};

describe.skipIf(!nginxIsThere)('deploy/nginx.conf', () => {
  const seen: Seen[] = [];
  let standIns: Awaited<ReturnType<typeof startStandIn>>[];
  let nginx: Nginx;
  beforeAll(async () => {
    standIns = [await startStandIn(seen), await startStandIn(seen)];
    nginx = await startNginx(standIns.map(({ port }) => port));
  });
  afterAll(async () => {
    await nginx.close();
    await Promise.all(standIns.map(({ server }) => close(server)));
  });

  const ask = async (path: string, options: RequestInit = {}) => {
    seen.length = 0;
    const response = await fetch(`${nginx.url}${path}`, options);
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const post = (path: string, headers: Record<string, string> = {}) =>
    ask(path, { method: 'POST', body: '{}', headers });

  test('overwrites or removes the headers in which a client can name another address', async () => {
    const claims = {
      'x-forwarded-for': '203.0.113.7',
      forwarded: 'for=1.2.3.4',
      'x-real-ip': '::1',
    };
    await ask('/api/agent//manifest?a=%2f', { headers: claims });
    const [request] = seen;
    expect(request?.headers['x-forwarded-for']).toBe('127.0.0.1');
    expect(request?.headers).not.toHaveProperty('forwarded');
    expect(request?.headers).not.toHaveProperty('x-real-ip');
    expect(request?.url).toBe('/api/agent//manifest?a=%2f');
  });

  test('returns 413 for a body over 1 MB without an instance, and forwards a body of 600 kB', async () => {
    const large = await ask('/api/leads', { method: 'POST', body: 'a'.repeat(1_100_000) });
    expect([large.status, JSON.parse(large.text), seen.length]).toEqual([413, { error: expect.any(String) }, 0]);
    expect((await ask('/api/leads', { method: 'POST', body: 'a'.repeat(600_000) })).status).toBe(200);
  });

  describe('with instances that close the connection after the request', () => {
    let fresh: Nginx;
    beforeAll(() => {
      for (const { answer } of standIns) answer.by = ({ socket }) => void socket.destroy();
    });
    afterAll(() => {
      for (const { answer } of standIns) answer.by = (_request, response) => void response.end('ok');
    });
    const tried = async (path: string, options: RequestInit) => {
      // Each call starts its own nginx, which otherwise treats both instances as failed for 5 s.
      fresh = await startNginx(standIns.map(({ port }) => port));
      seen.length = 0;
      try {
        const response = await fetch(`${fresh.url}${path}`, options);
        return { response, text: await response.text(), sent: seen.length };
      } finally {
        await fresh.close();
      }
    };

    test('sends a lead to one instance only and returns 502', async () => {
      const { response, text, sent } = await tried('/api/leads', { method: 'POST', body: '{}' });
      expect([response.status, sent]).toEqual([502, 1]);
      expect(JSON.parse(text)).toEqual({ error: expect.any(String) });
    });

    test('sends an execution to one instance only and returns 503 with Retry-After', async () => {
      const path = '/api/agent/actions/contact/execute';
      const { response, text, sent } = await tried(path, { method: 'POST', body: '{}' });
      expect([response.status, response.headers.get('retry-after'), sent]).toEqual([503, '1', 1]);
      expect(JSON.parse(text)).toEqual({ error: expect.any(String) });
    });

    test('requests a page from both instances, then returns 502 in HTML', async () => {
      const { response, text, sent } = await tried('/', { headers: { accept: 'text/html' } });
      expect([response.status, sent]).toEqual([502, 2]);
      expect(response.headers.get('content-type')).toBe('text/html');
      expect(text).toMatch(/^<!doctype html>[^$]*<h1>[^$]*what you typed still is/);
    });
  });

  test('sends a POST to the next instance if an instance refuses the connection', async () => {
    const [standIn] = standIns;
    const half = await startNginx([await freePort(), standIn?.port ?? 0, await freePort()]);
    seen.length = 0;
    for (let count = 1; count <= 6; count += 1) {
      const response = await fetch(`${half.url}/api/leads`, { method: 'POST', body: '{}' });
      expect([response.status, seen.length]).toEqual([200, count]);
    }
    await half.close();
  });

  describe('choice of the instance by client address', () => {
    const addresses = Array.from({ length: 40 }, (_, index) => `127.0.1.${index + 1}`);
    /** Posts from a local address, and returns the instance that got the request. */
    const instanceFor = async (to: Nginx, localAddress: string, path = '/api/leads') => {
      const [status, text] = await postFrom(localAddress, `${to.url}${path}`);
      expect(status).toBe(200);
      return text;
    };
    beforeAll(() => {
      for (const [index, { answer }] of standIns.entries()) {
        answer.by = (_request, response) => void response.end(`instance ${index}`);
      }
    });
    afterAll(() => {
      for (const { answer } of standIns) answer.by = (_request, response) => void response.end('ok');
    });

    test('sends all forms of one address to one instance, and uses every instance', async () => {
      const instances = new Set<string>();
      for (const address of addresses) {
        const first = await instanceFor(nginx, address);
        instances.add(first);
        expect(await instanceFor(nginx, address)).toBe(first);
        expect(await instanceFor(nginx, address, '/api/leads?from=quote')).toBe(first);
        expect(await instanceFor(nginx, address, '/api/subscribe')).toBe(first);
      }
      expect([...instances].sort()).toEqual(['instance 0', 'instance 1']);
    });

    test('sends each form once to another instance while the chosen instance is down', async () => {
      const [, staying] = standIns;
      const half = await startNginx([await freePort(), staying?.port ?? 0]);
      seen.length = 0;
      for (const address of addresses) {
        expect(await instanceFor(half, address)).toBe('instance 1');
      }
      expect(seen.length).toBe(addresses.length);
      await half.close();
    });

    test('distributes previews of one address over all instances', async () => {
      const answered: string[] = [];
      for (let count = 0; count < 6; count += 1) {
        const preview = '/api/agent/actions/contact/preview';
        answered.push(await instanceFor(nginx, '127.0.1.1', preview));
      }
      expect(new Set(answered).size).toBe(2);
      expect(answered.filter((each) => each === 'instance 0')).toHaveLength(3);
    });
  });

  test('probes /readyz?exclude=store, and sends no request to an instance that answers the probe with 503', async () => {
    const [leaving, staying] = standIns;
    if (leaving === undefined || staying === undefined) return expect.fail();
    leaving.answer.by = (request, response) => {
      response.statusCode = request.url?.startsWith('/readyz') ? 503 : 200;
      response.end('leaving');
    };
    const statuses = [(await ask('/nginx/probe')).status, (await ask('/nginx/probe')).status];
    expect(statuses).toEqual([200, 200]);
    expect(seen.at(-1)?.url).toBe('/readyz?exclude=store');
    for (let count = 0; count < 6; count += 1) expect((await post('/api/leads')).text).toBe('ok');
    leaving.answer.by = (_request, response) => void response.end('ok');
  });
});

/** Posts from a loopback address. Returns the status and the body. */
function postFrom(localAddress: string, url: string): Promise<[number | undefined, string]> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(url, { method: 'POST', localAddress }, async (response) => {
      resolve([response.statusCode, (await response.toArray()).join('')]);
    });
    sent.on('error', reject).end('{}');
  });
}
