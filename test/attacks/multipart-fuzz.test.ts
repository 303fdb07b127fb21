/** A multipart body that is broken at any byte is refused at once (ASVS 1.5.3). */
import { Agent, request } from 'node:http';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { errorsIn, freshAddress, type Service, startService } from '../support/service.ts';

const PATIENCE_MS = 50;
const boundary = 'b0undary';
const whole = Buffer.from(
  [
    `--${boundary}`,
    'Content-Disposition: form-data; name="form"',
    '',
    'contact',
    `--${boundary}`,
    'Content-Disposition: form-data; name="email"',
    '',
    'ada@example.com',
    `--${boundary}`,
    'Content-Disposition: form-data; name="n"; filename="a.txt"',
    'Content-Type: text/plain',
    '',
    'x',
    `--${boundary}--`,
    '',
  ].join('\r\n'),
);

let service: Service;
const agent = new Agent({ keepAlive: true });
beforeAll(async () => {
  service = await startService();
});
afterAll(async () => {
  agent.destroy();
  await service.close();
});

type Got = { status: number; elapsedMs: number };

/** Sends the bytes with their real length. A test without an answer times out. */
function send(path: string, body: Buffer, type = `multipart/form-data; boundary=${boundary}`) {
  return new Promise<Got>((resolve, reject) => {
    const startedAt = performance.now();
    const headers = { 'content-type': type, 'x-forwarded-for': freshAddress() };
    const sending = request(`${service.url}${path}`, { agent, method: 'POST', headers }, (got) => {
      got.resume().on('end', () => resolve({ status: got.statusCode ?? 0, elapsedMs: performance.now() - startedAt }));
    });
    sending.on('error', reject);
    sending.end(body);
  });
}

/** `/api/subscribe` ignores files, so a mutated body may still be valid there. */
const PATHS = ['/api/leads', '/api/subscribe'];

/** Sends each body and repeats a slow request up to four times, because the machine may have been busy. */
async function expectRefused(bodies: Iterable<Buffer>, paths = PATHS): Promise<number> {
  let sent = 0;
  for (const body of bodies) {
    for (const path of paths) {
      let least = Number.POSITIVE_INFINITY;
      for (let attempt = 0; attempt < 5 && least >= PATIENCE_MS; attempt += 1) {
        const { status, elapsedMs } = await send(path, body);
        expect([400, 413], body.toString('latin1')).toContain(status);
        least = Math.min(least, elapsedMs);
      }
      expect(least).toBeLessThan(PATIENCE_MS);
      sent += 1;
    }
  }
  return sent;
}

function* everyPosition(change: (at: number) => Buffer): Generator<Buffer> {
  for (let at = 0; at < whole.length; at += 1) yield change(at);
}

const withByte = (at: number, byte: number) => {
  const changed = Buffer.from(whole);
  changed[at] = byte;
  return changed;
};

describe('multipart body with one defect', () => {
  test('is refused if the body is cut off, at each position', async () => {
    expect(await expectRefused(everyPosition((at) => whole.subarray(0, at)))).toBe(2 * whole.length);
  });

  test('is refused if one byte is missing, at each position', async () => {
    const without = (at: number) => Buffer.concat([whole.subarray(0, at), whole.subarray(at + 1)]);
    await expectRefused(everyPosition(without), ['/api/leads']);
  });

  test.each([0x0a, 0x22, 0xff])('is refused if the byte %i replaces another byte, at each position', async (byte) => {
    await expectRefused(
      everyPosition((at) => withByte(at, byte)),
      ['/api/leads'],
    );
  });
});

const line = fc.constantFrom(
  ...['', `--${boundary}`, `--${boundary}--`, `--${boundary}-`, `-${boundary}`, '--', '----'],
  ...['Content-Disposition: form-data; name="email"', 'Content-Disposition: form-data; name=email'],
  ...['Content-Disposition: form-data', 'Content-Disposition: form-data; name=""; filename=""'],
  ...['content-disposition:form-data;name="a";name="b"', 'Content-Disposition: file; filename="x"'],
  ...["Content-Disposition: form-data; name*=utf-8''%00", 'Content-Transfer-Encoding: base64'],
  ...['Content-Type: multipart/mixed; boundary=b0undary', 'X: y', ':', 'a', 'ada@example.com'],
);
const ending = fc.constantFrom('\r\n', '\r\n', '\r\n', '\n', '\r', '', '\r\n\r\n', ' \r\n', '\0');
const anyBody = fc.array(fc.tuple(line, ending), { maxLength: 24 }).map((lines) => Buffer.from(lines.flat().join('')));

const anyType = fc.constantFrom(
  `multipart/form-data; boundary=${boundary}`,
  `multipart/form-data; boundary="${boundary}"`,
  `multipart/form-data; boundary=${boundary}; boundary=other`,
  'multipart/form-data',
  'multipart/form-data; boundary=',
  'multipart/form-data; boundary=""',
  `multipart/form-data; boundary=${'b'.repeat(8_000)}`,
  'multipart/form-data; boundary=(.*)+$',
  'multipart/form-data; charset=utf-8; boundary=--',
  'multipart/mixed; boundary=b0undary',
);

test('multipart fuzzing by grammar: the service answers each body in time and with no 5xx', async () => {
  await fc.assert(
    fc.asyncProperty(anyBody, anyType, fc.constantFrom(...PATHS), async (body, type, path) => {
      const { status } = await send(path, body, type);
      expect([200, 303, 400, 413]).toContain(status);
    }),
    { numRuns: 600 },
  );
  expect(errorsIn(service.logs)).toEqual([]);
});

test.each([
  ['boundaries alone', `--${boundary}\r\n`],
  ['heads alone', 'Content-Disposition: form-data; name="a"\r\n'],
  ['empty parts', `--${boundary}\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n`],
  ['beginnings of a boundary', `\r\n--${boundary.slice(0, -1)}`],
  ['line breaks', '\r\n'],
  ['dashes', '-'],
  ['quotes', '"'],
  ['high bytes', '\xff'],
])('multipart body filled with %s: is refused in time', async (_name, piece) => {
  for (const [path, bytes] of [
    ['/api/leads', 32_000],
    ['/api/subscribe', 8_000],
  ] as const) {
    for (const head of ['', `--${boundary}\r\nContent-Disposition: form-data; name="a"\r\n\r\n`]) {
      const body = Buffer.from(head + piece.repeat(bytes / piece.length + 1), 'latin1');
      const full = body.subarray(0, bytes);
      const tries = [await send(path, full), await send(path, full), await send(path, full)];
      expect(new Set(tries.map(({ status }) => status))).toEqual(new Set([400]));
      expect(Math.min(...tries.map(({ elapsedMs }) => elapsedMs))).toBeLessThan(PATIENCE_MS);
    }
  }
});
