import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { openMetrics } from '../../src/operations/metrics.ts';
import { readSettings } from '../../src/settings/settings.ts';
import { describeStartFault } from '../../src/start/faults.ts';
import { openStorage } from '../../src/storage/open.ts';
import { freePort } from '../support/free-port.ts';

function settingsOf(environment: Record<string, string>) {
  const read = readSettings(environment);
  if (read.kind === 'invalid') throw new Error(read.faults.join('\n'));
  return read.settings;
}

/** What a start says that fails at its database. */
async function saidOf(url: string): Promise<string> {
  const settings = settingsOf({ DATABASE_URL: url });
  const opened = await openStorage(settings, systemClock).catch((error: unknown) => error);
  const { sentence, exitCode } = describeStartFault(opened, settings);
  expect(exitCode).toBe(1);
  return sentence;
}

const server = process.env.TEST_DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres';

/** The address of the tests' PostgreSQL, changed. */
function changed(change: (url: URL) => void): string {
  const url = new URL(server);
  change(url);
  return url.href;
}

test.each([
  [
    'nobody listens there',
    async () => `postgres://postgres@127.0.0.1:${await freePort()}/postgres`,
    'nothing listens',
  ],
  [
    'the host is unknown',
    async () => 'postgres://postgres@no.such.host.invalid/postgres',
    'no such host',
  ],
  [
    'there is no such database',
    async () =>
      changed((url) => {
        url.pathname = '/canary';
      }),
    'no such database',
  ],
  [
    'there is no such role',
    async () =>
      changed((url) => {
        url.username = 'canary';
      }),
    'role',
  ],
])('a PostgreSQL fault says which, and nothing of the disk: %s', async (_name, url, words) => {
  const sentence = await saidOf(await url());
  expect(sentence).toContain(words);
  expect(sentence).toContain('DATABASE_URL');
  expect(sentence).not.toMatch(/DATA_DIR|disk|canary|no\.such/);
});

test('a server without TLS is said to be one, in a sentence and nothing else', async () => {
  // What PostgreSQL answers to the request for TLS.
  const plain = createServer((socket) => void socket.on('data', () => socket.write('N')));
  await once(plain.listen(0, '127.0.0.1'), 'listening');
  const { port } = plain.address() as AddressInfo;
  const warned: unknown[] = [];
  const hear = (warning: unknown) => void warned.push(warning);
  process.on('warning', hear);
  const sentence = await saidOf(`postgres://postgres@127.0.0.1:${port}/postgres?sslmode=require`);
  await new Promise(setImmediate);
  process.off('warning', hear);
  expect(sentence).toMatch(/no TLS.*DATABASE_URL/);
  expect(warned).toEqual([]);
  plain.close();
});

test('a server that does not answer in time is said to be silent', async () => {
  const held: Socket[] = [];
  const silent = createServer((socket) => void held.push(socket)).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const sentence = await saidOf(`postgres://postgres@127.0.0.1:${port}/postgres`);
  expect(sentence).toMatch(/does not answer.*DATABASE_URL/);
  expect(sentence).not.toMatch(/DATA_DIR|disk/);
  for (const socket of held) socket.destroy();
  silent.close();
});

test('a file that is no database still names the folder and the disk', async () => {
  expect(await saidOf('sqlite:/proc/service.db')).toMatch(/DATABASE_URL, DATA_DIR and the disk/);
});

/** What a start says where the port of its metrics is taken. */
async function saidOfMetrics(environment: Record<string, string>): Promise<string> {
  const settings = settingsOf(environment);
  const sources = {
    outboxDepth: async () => ({}),
    submissions: async () => expect.fail(),
    storeAnswers: async () => true,
    limitsAreInsured: () => false,
  };
  const port = settings.metricsPort ?? expect.fail();
  const error = await openMetrics('127.0.0.1', port, sources).catch((fault: unknown) => fault);
  return describeStartFault(error, settings).sentence;
}

test('the port of the metrics that is taken is named, and another one that is not the service’s', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const METRICS_PORT = `${port}`;
  expect(await saidOfMetrics({ METRICS_PORT })).toBe(
    `Port ${port} is taken by another program; stop that one, or set METRICS_PORT to a free one: METRICS_PORT=${port + 1} npm start`,
  );
  expect(await saidOfMetrics({ METRICS_PORT, PORT: `${port + 1}` })).toContain(
    `METRICS_PORT=${port + 2} npm start`,
  );
  taken.close();
});

test.each([
  [3001, 'PORT=3002 npm start'],
  [65_535, 'PORT=3000 npm start'],
])('a taken port %i is never suggested itself', (port, suggested) => {
  const fault = Object.assign(new Error(), { code: 'EADDRINUSE', port });
  const { sentence } = describeStartFault(fault, settingsOf({ PORT: `${port}` }));
  expect(sentence).toMatch(new RegExp(`^Port ${port} is taken`));
  expect(sentence).toContain(suggested);
});
