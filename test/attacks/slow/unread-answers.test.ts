/** Clients that never read answers cost little memory and are cut in time (API4, reference §3.5). */
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { type ServiceProcess, startProcess } from '../../support/process.ts';

const MEGABYTE = 1024 * 1024;
const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

function memoryOf({ pid }: ServiceProcess): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1024;
}

/** Returns true while the service holds its end of the connection, according to the kernel. */
function isHeld({ port }: ServiceProcess, { localPort = 0 }: Socket): boolean {
  const [from, to] = [port, localPort].map((each) => each.toString(16).toUpperCase().padStart(4, '0'));
  const established = new RegExp(`^ *\\d+: \\w+:${from} \\w+:${to} 01 `, 'm');
  return established.test(readFileSync('/proc/net/tcp', 'utf8'));
}

/** Opens connections, writes to each and reads nothing. */
function askWithoutReading(service: ServiceProcess, count: number, bytes: string): Socket[] {
  return Array.from({ length: count }, () => {
    const socket = connect({ port: service.port, host: '127.0.0.1' });
    socket.on('error', () => {}).pause();
    socket.write(bytes);
    return socket;
  });
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('clients that pipeline and never read', () => {
  test.each([
    [100, 350],
    [40, 4_000],
  ])(
    'use less than 100 MB and do not delay other clients: %i connections of %i requests',
    async (connections, requests) => {
      const service = await startProcess();
      const bytes = get('/openapi.json').repeat(requests);
      // The first connections make the process grow as any load does. The test measures the growth through the second set.
      const sockets = askWithoutReading(service, connections, bytes);
      await pause(4_000);
      const grown: number[] = [];
      // A set whose memory V8 collects late is followed by another one. Without a bound, each set would cost as much.
      while (grown.length < 2 && grown.every((bytes) => bytes >= 100 * MEGABYTE)) {
        const before = memoryOf(service);
        sockets.push(...askWithoutReading(service, connections, bytes));
        let most = 0;
        const waits: number[] = [];
        const end = performance.now() + 8_000;
        while (performance.now() < end) {
          const startedAt = performance.now();
          expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
          waits.push(performance.now() - startedAt);
          most = Math.max(most, memoryOf(service) - before);
          await pause(100);
        }
        console.info(`${connections} × ${requests}: +${Math.round(most / MEGABYTE)} MB at most`);
        grown.push(most);
        // One request may come at a busy moment of the machine.
        waits.sort((one, other) => one - other);
        expect(waits[Math.floor(waits.length / 2)]).toBeLessThan(1_000);
      }
      // Without a bound, the same load cost 205 and 764 MB.
      expect(grown.at(-1)).toBeLessThan(100 * MEGABYTE);
      for (const socket of sockets) socket.destroy();
    },
  );

  test('stay connected for 20 s without reading, and are disconnected after about 30 s', async () => {
    const service = await startProcess();
    const answered = () => service.stdout().split('"route":"/openapi.json"').length - 1;
    const [socket = expect.fail()] = askWithoutReading(service, 1, '');
    // The system buffers some megabytes. The loop ends when an answer gets stuck.
    let asked = 0;
    while (answered() === asked) {
      socket.write(get('/openapi.json').repeat(31));
      asked += 31;
      const end = performance.now() + 2_000;
      while (answered() < asked && performance.now() < end) await pause(20);
    }
    const stuckAt = performance.now();
    await pause(20_000);
    expect(isHeld(service, socket)).toBe(true);
    while (isHeld(service, socket) && performance.now() - stuckAt < 40_000) await pause(50);
    const seconds = (performance.now() - stuckAt) / 1_000;
    expect(seconds).toBeGreaterThan(26);
    expect(seconds).toBeLessThan(33);
    socket.destroy();
  });
});
