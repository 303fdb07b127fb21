/** The service does not store a body that is too large or never ends (ASVS 1.5.3). */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type ServiceProcess, startProcess } from '../../support/process.ts';
import { openWire, type Wire } from '../../support/wire.ts';

const MEGABYTE = 1024 * 1024;
const boundary = 'b0undary';
const part = `--${boundary}\r\nContent-Disposition: form-data; name="a"\r\n\r\n`;

/** Returns the highest memory use of the process so far, in bytes. */
function peakOf({ pid }: ServiceProcess): number {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1024;
}

/** Sends a part of this size without waiting for an answer, and returns the status. */
async function sendEndless(service: ServiceProcess, bytes: number): Promise<number | undefined> {
  const wire = await openWire(service.url);
  wire.write(
    `POST /api/leads HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=${boundary}\r\nTransfer-Encoding: chunked\r\n\r\n${part.length.toString(16)}\r\n${part}\r\n`,
  );
  const chunk = Buffer.from(`10000\r\n${'a'.repeat(0x10000)}\r\n`);
  for (let sent = 0; sent < bytes; sent += 0x10000) {
    if (!wire.socket.write(chunk)) await once(wire.socket, 'drain');
  }
  wire.write('0\r\n\r\n');
  const [reply] = await wire.answers(1);
  wire.socket.destroy();
  return reply?.status;
}

describe('multipart memory', () => {
  test('returns 413 for a body of 512 MB and uses no more memory than for 128 MB', async () => {
    const service = await startProcess();
    // Released memory is collected late. Up to 90 MB wait for it, however much is sent.
    await sendEndless(service, 128 * MEGABYTE);
    const before = peakOf(service);
    expect(await sendEndless(service, 512 * MEGABYTE)).toBe(413);
    expect(peakOf(service) - before).toBeLessThan(100 * MEGABYTE);
  });

  test('uses less than twice the sent bytes for 500 bodies that are open at the same time', async () => {
    const service = await startProcess();
    const head = `POST /api/leads HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=${boundary}\r\nContent-Length: 32000\r\n\r\n`;
    const unfinished = Buffer.from(head + part + '\xff'.repeat(31_000), 'latin1');
    const open = async () => {
      const wires: Wire[] = [];
      for (let n = 0; n < 500; n += 1) wires.push(await openWire(service.url));
      return wires;
    };
    // The first 500 connections raise the peak by their own cost, which is not the cost of a body.
    const idle = await open();
    for (const wire of idle) wire.socket.destroy();
    const wires = await open();
    const before = peakOf(service);
    for (const wire of wires) {
      wire.write(unfinished);
    }
    await expect.poll(() => wires.every(({ socket }) => socket.writableLength === 0)).toBe(true);
    expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
    expect(peakOf(service) - before).toBeLessThan(2 * 500 * unfinished.length);
    for (const wire of wires) wire.socket.destroy();
  });
});
