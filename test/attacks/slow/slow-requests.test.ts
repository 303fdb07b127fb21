/**
 * Slow or excessive senders are cut in time, and other clients do not notice (API4). For the limits of 10 s for headers and
 * 30 s for a body, see test/server/wire.test.ts. This file makes real slow requests.
 */
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ServiceProcess, startProcess } from '../../support/process.ts';
import { until } from '../../support/until.ts';
import { openWire, type Wire } from '../../support/wire.ts';

const hasTool = spawnSync('slowhttptest', ['-h']).error === undefined;
if (!hasTool && process.env.TEST_SERVICES === 'required') {
  throw new Error('slowhttptest is not there, and TEST_SERVICES=required wants it.');
}

const CONNECTIONS = 500;
const SECONDS = 8;
const BODY_MS = 30_000;
const CHECK_MS = 1_000;

let service: ServiceProcess;
let victim: ServiceProcess;
let slowBodies: Promise<{ statuses: number[]; elapsedMs: number }[]>;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
beforeAll(async () => {
  service = await startProcess();
  victim = await startProcess();
  // They take half a minute, so they run beside everything else.
  slowBodies = Promise.all([sendSlowly('chunked'), sendSlowly('length'), sendSlowly('no byte')]);
});
afterAll(() => agent.destroy());

/** Sends a whole head and then one byte of the body a second, or none. */
async function sendSlowly(how: 'chunked' | 'length' | 'no byte') {
  const startedAt = performance.now();
  const wire = await openWire(service.url);
  const length = how === 'chunked' ? 'Transfer-Encoding: chunked' : 'Content-Length: 1000';
  wire.write(`POST /api/leads HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${length}\r\n\r\n`);
  const timer = setInterval(() => {
    if (how !== 'no byte') wire.write(how === 'chunked' ? '1\r\n \r\n' : ' ');
  }, 1_000);
  const replies = await wire.closed();
  clearInterval(timer);
  return {
    statuses: replies.map(({ status }) => status),
    elapsedMs: performance.now() - startedAt,
  };
}

function ask({ url }: ServiceProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    get(`${url}/api/agent/manifest`, { agent }, (response) => {
      response.resume().on('end', () => resolve(performance.now() - startedAt));
    }).on('error', reject);
  });
}

/** Returns the p99 of the answers of each service. One client requests them in turn. */
async function p99Of(services: ServiceProcess[], ms: number): Promise<number[]> {
  const times = services.map((): number[] => []);
  const end = performance.now() + ms;
  while (performance.now() < end) {
    for (const [n, each] of services.entries()) {
      times[n]?.push(await ask(each));
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }
  return times.map((each) => {
    each.sort((a, b) => a - b);
    return each[Math.floor(each.length * 0.99)] ?? Number.POSITIVE_INFINITY;
  });
}

/** Returns the number of established connections at a port, according to the kernel. */
function established(port: number): number {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')} `;
  return readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .filter((line) => line.slice(0, 22).includes(local) && /^\s*\d+: \S+ \S+ 01 /.test(line)).length;
}

/** Floods the victim and returns when the tool has ended. */
function flood(...kind: string[]): Promise<void> {
  const argv = ['-c', `${CONNECTIONS}`, '-r', '250', '-i', '1', '-x', '24', '-p', '3'];
  const child = spawn('slowhttptest', [...argv, ...kind, '-l', `${SECONDS}`, '-u', `${victim.url}/api/leads`], {
    stdio: 'ignore',
  });
  return new Promise((resolve) => child.once('close', () => resolve()));
}

describe('slow requests', () => {
  test.skipIf(!hasTool).each([
    ['slow headers', ['-H', '-t', 'GET']],
    ['slow bodies', ['-B', '-t', 'POST', '-s', '8000']],
    ['answers that clients read slowly', ['-X', '-t', 'GET', '-w', '1', '-y', '2', '-n', '1', '-z', '1', '-k', '3']],
  ])('500 connections of %s: p99 of other clients stays below twice the p99 of another service', async (name, kind) => {
    // The other service shares only the machine with the flood and the tool.
    await p99Of([victim, service], 500);
    const flooding = flood(...kind);
    await until(() => established(victim.port) > CONNECTIONS / 2);
    const [flooded = 0, other = 0] = await p99Of([victim, service], 5_000);
    await flooding;
    console.info(`${name}: p99 ${flooded.toFixed(1)} ms, elsewhere ${other.toFixed(1)} ms`);
    // A shared machine alone turns one or two milliseconds into eight.
    expect(flooded).toBeLessThan(Math.max(2 * other, 8));
    expect((await fetch(`${victim.url}/readyz`)).status).toBe(200);
  });

  test('500 connections with unfinished headers: all get 408 within 13 s, and all are closed', async () => {
    const wires: Wire[] = [];
    const startedAt = performance.now();
    for (let n = 0; n < CONNECTIONS; n += 1) wires.push(await openWire(victim.url));
    expect(established(victim.port)).toBeGreaterThanOrEqual(CONNECTIONS);
    for (const wire of wires) wire.write('GET / HTTP/1.1\r\nHo');
    const replies = await Promise.all(wires.map((wire) => wire.closed()));
    expect(performance.now() - startedAt).toBeLessThan(10_000 + 3 * CHECK_MS);
    expect(new Set(replies.map(([reply]) => reply?.status))).toEqual(new Set([408]));
    await expect.poll(() => established(victim.port)).toBeLessThan(5);
  });

  test('a slow body: the service answers 408 after 30 to 33 seconds', async () => {
    for (const { statuses, elapsedMs } of await slowBodies) {
      expect(statuses).toEqual([408]);
      expect(elapsedMs).toBeGreaterThan(BODY_MS - 200);
      expect(elapsedMs).toBeLessThan(BODY_MS + 3 * CHECK_MS);
    }
  });
});
