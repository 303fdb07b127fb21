/**
 * Client claims about itself or about the service have no effect (ASVS 4.1.3). For the table of `X-Forwarded-For` itself,
 * see test/http/client-address.test.ts.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clientAddressReader } from '../../src/http/client-address.ts';
import { type Service, startService } from '../support/service.ts';
import { exchange } from '../support/wire.ts';

const BASE_URL = 'https://paint.example';
let service: Service;
let url: string;
let direct: Service;
beforeAll(async () => {
  const environment = { BASE_URL, OPERATOR_CONTACT: 'help@paint.example' };
  service = await startService({
    environment: { ...environment, TRUST_PROXY: '127.0.0.1,10.0.0.0/8,2001:db8:aaaa::/48' },
  });
  direct = await startService({ environment: { ...environment, TRUST_PROXY: '' } });
  url = `http://127.0.0.1:${service.settings.port}`;
});
afterAll(async () => {
  await service.close();
  await direct.close();
});

/** Sends a request without a credential and returns how many requests the limit still allows its address. */
async function remaining(headers: string, of = service): Promise<number> {
  const at = `http://127.0.0.1:${of.settings.port}`;
  const [reply] = await exchange(
    at,
    `POST /api/agent/actions/contact/preview HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}Content-Length: 0\r\n\r\n`,
  );
  expect(reply?.status).toBe(401);
  return Number(/;r=(\d+);/.exec(reply?.headers.ratelimit ?? '')?.[1]);
}

let networks = 0;
/** Returns an unused address. */
const fresh = () => `198.51.${++networks}.7`;

describe('spoofed X-Forwarded-For', () => {
  test.each([
    ['entries that the client added before it', (ip: string) => `1.1.1.1, 2.2.2.2, ${ip}`],
    ['a trusted proxy after it', (ip: string) => `${ip}, 10.1.2.3`],
    ['several trusted proxies after it, of both kinds', (ip: string) => `${ip},10.1.2.3,2001:db8:aaaa::9`],
    ['odd spaces and tabs', (ip: string) => `9.9.9.9 ,\t ${ip}\t,  10.1.2.3`],
    ['empty entries before it', (ip: string) => `,,, ${ip}`],
    ['the IPv4-mapped spelling', (ip: string) => `::ffff:${ip}`],
    ['the mapped spelling in hexadecimal', (ip: string) => `::FFFF:${hexOf(ip)}`],
    ['a port, as some gateways append it', (ip: string) => `${ip}:4321`],
    ['a trusted proxy with a port after it', (ip: string) => `${ip}:1, 10.1.2.3:443`],
    ['the mapped spelling with a port', (ip: string) => `[::ffff:${ip}]:4321`],
    ['a thousand entries before it', (ip: string) => `${'1.2.3.4,'.repeat(1_000)}${ip}`],
    ['a thousand trusted proxies after it', (ip: string) => `${ip}${',10.1.2.3'.repeat(1_000)}`],
  ])('counts the rightmost untrusted entry, also with %s', async (_name, claim) => {
    const ip = fresh();
    const first = await remaining(`X-Forwarded-For: ${ip}\r\n`);
    expect(await remaining(`X-Forwarded-For: ${claim(ip)}\r\n`)).toBe(first - 1);
    const times = Array.from({ length: 5 }, () => {
      const before = performance.now();
      const read = clientAddressReader(['10.0.0.0/8'])('10.0.0.1', claim(ip));
      expect(read.ignoredForwardedFor).toBe(false);
      return performance.now() - before;
    });
    // The minimum counts, because other work of the machine lengthens any of them.
    expect(Math.min(...times)).toBeLessThan(20);
  });

  test('treats several header lines as one list', async () => {
    const ip = fresh();
    const first = await remaining(`X-Forwarded-For: ${ip}\r\n`);
    const lines = `X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: ${ip}\r\nX-Forwarded-For: 10.9.9.9\r\n`;
    expect(await remaining(lines)).toBe(first - 1);
  });

  test.each([
    '198.51.100.7:',
    '198.51.100.7:4321:1',
    '198.51.100.7:-1',
    '[198.51.100.7]:4321',
    '[2001:db8::1]',
    '[2001:db8::1]:https',
    '"198.51.100.7"',
    '198.51.100.07',
    '0306.063.0144.07',
    '0xc6336407',
    '3325256711',
    '198.51.100',
    '198.51.100.7/8',
    '198.51.100.256',
    '1::2::3',
    'unknown',
    '_hidden',
    'localhost',
    "' or 1=1 --",
  ])('ignores %s, which is no address, and counts the last valid entry', async (claim) => {
    const ip = fresh();
    const proxy = `10.77.${networks}.1`;
    const first = await remaining(`X-Forwarded-For: ${proxy}\r\n`);
    expect(await remaining(`X-Forwarded-For: ${ip}, ${claim}, ${proxy}\r\n`)).toBe(first - 1);
  });

  test('ignores the zone of an IPv6 address', async () => {
    const first = await remaining('X-Forwarded-For: 2001:db8:1:2::1%eth0\r\n');
    expect(await remaining('X-Forwarded-For: 2001:db8:1:2::2%eth1\r\n')).toBe(first - 1);
  });

  test('ignores the header from a peer outside TRUST_PROXY', async () => {
    const first = await remaining('', direct);
    for (const [n, claim] of ['127.0.0.1', '1.1.1.1', '10.0.0.1', '::1', ''].entries()) {
      expect(await remaining(`X-Forwarded-For: ${claim}\r\n`, direct)).toBe(first - 1 - n);
    }
  });
});

describe('other headers about the client and the host', () => {
  const claims = [
    'Forwarded: for=203.0.113.9;host=evil.example;proto=gopher',
    'X-Real-IP: 203.0.113.9',
    'X-Client-IP: 203.0.113.9',
    'True-Client-IP: 203.0.113.9',
    'CF-Connecting-IP: 203.0.113.9',
    'X-Forwarded-Host: evil.example',
    'X-Forwarded-Server: evil.example',
    'X-Forwarded-Proto: gopher',
    'X-Forwarded-Port: 666',
    'X-Forwarded-Prefix: /evil.example',
    'X-Host: evil.example',
    'X-Original-URL: /evil.example',
    'X-Rewrite-URL: /evil.example',
    'X-HTTP-Method-Override: DELETE',
    'Host: evil.example:666',
  ];

  test('do not change which client is counted', async () => {
    const ip = fresh();
    const first = await remaining(`X-Forwarded-For: ${ip}\r\n`);
    const all = claims.filter((claim) => !claim.startsWith('Host')).join('\r\n');
    expect(await remaining(`${all}\r\nX-Forwarded-For: ${ip}\r\n`)).toBe(first - 1);
  });

  test.each([
    '/',
    '/quote',
    '/quote.md',
    '/agents',
    '/reference',
    '/llms.txt',
    '/openapi.json',
    '/api/agent/manifest',
    '/.well-known/service-agent.json',
    '/.well-known/security.txt',
    '/api/agent/content',
    '/sitemap.xml',
    '/robots.txt',
    '/nothing-here',
  ])('do not change the links of %s, which use BASE_URL', async (path) => {
    const ask = async (claimed: readonly string[]) => {
      const host = claimed.some((claim) => claim.startsWith('Host')) ? '' : 'Host: x\r\n';
      const [reply] = await exchange(
        url,
        `GET ${path} HTTP/1.1\r\n${host}Connection: close\r\n${claimed.map((claim) => `${claim}\r\n`).join('')}\r\n`,
      );
      if (reply === undefined) return expect.fail('no answer');
      const { 'x-request-id': _, date, ...headers } = reply.headers;
      return { status: reply.status, headers, body: reply.body };
    };
    const plain = await ask([]);
    expect(await ask(claims)).toEqual(plain);
    expect(JSON.stringify(plain)).not.toContain('127.0.0.1');
  });

  test('do not change the redirect of a sent form to /thank-you', async () => {
    const body = 'email=ada%40example.com';
    const [reply] = await exchange(
      url,
      `POST /api/leads HTTP/1.1\r\n${claims.join('\r\n')}\r\nConnection: close\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    expect([reply?.status, reply?.headers.location]).toEqual([303, '/thank-you']);
    expect(JSON.stringify(reply)).not.toContain('evil');
  });
});

/** `198.51.100.7` as `c633:6407`. */
function hexOf(ip: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = ip.split('.').map(Number);
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}
