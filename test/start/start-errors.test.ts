import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { CredentialsFault } from '../../src/credentials/file.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { openMetrics } from '../../src/platform/metrics.ts';
import { routes } from '../../src/routes.ts';
import { readSettings } from '../../src/settings/settings.ts';
import { ContentFault } from '../../src/site/content-overrides.ts';
import { StartFault } from '../../src/start/first-run.ts';
import { databaseFault, describeStartFault } from '../../src/start/start-errors.ts';
import { StorageUnavailable } from '../../src/storage/database.ts';
import { openStorage } from '../../src/storage/open.ts';
import { freePort } from '../support/free-port.ts';

function settingsOf(environment: Record<string, string>) {
  const read = readSettings(environment);
  if (read.kind === 'invalid') throw new Error(read.faults.join('\n'));
  return read.settings;
}

/** Returns the sentence of a start that fails at its database. */
async function saidOf(url: string): Promise<string> {
  const settings = settingsOf({ DATABASE_URL: url });
  const opened = await openStorage(settings, systemClock).catch((error: unknown) => error);
  const { sentence, exitCode } = describeStartFault(opened, settings);
  expect(exitCode).toBe(1);
  return sentence;
}

const server = process.env.TEST_DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres';

/** Returns the address of the tests' PostgreSQL after a change. */
function changed(change: (url: URL) => void): string {
  const url = new URL(server);
  change(url);
  return url.href;
}

test.each([
  [
    'nothing listens on the port',
    async () => `postgres://postgres@127.0.0.1:${await freePort()}/postgres`,
    'nothing listens',
  ],
  ['the host is unknown', async () => 'postgres://postgres@no.such.host.invalid/postgres', 'no such host'],
  [
    'the database does not exist',
    async () =>
      changed((url) => {
        url.pathname = '/canary';
      }),
    'no such database',
  ],
  [
    'the role does not exist',
    async () =>
      changed((url) => {
        url.username = 'canary';
      }),
    'role',
  ],
])('the error of a start names DATABASE_URL and the cause, but not the disk, if %s', async (_name, url, words) => {
  const sentence = await saidOf(await url());
  expect(sentence).toContain(words);
  expect(sentence).toContain('DATABASE_URL');
  expect(sentence).not.toMatch(/DATA_DIR|disk|canary|no\.such/);
});

test('the error of a start says that the server has no TLS, and Node prints no warning', async () => {
  // PostgreSQL's refusal of the request for TLS.
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

test('the error of a start says that the server does not answer, after a timeout', async () => {
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

test('the error of a start names the folder and the disk if the database file can’t be opened', async () => {
  expect(await saidOf('sqlite:/proc/service.db')).toMatch(/DATABASE_URL, DATA_DIR and the disk/);
});

/** Returns the sentence of a start whose metrics port is in use. */
async function saidOfMetrics(environment: Record<string, string>): Promise<string> {
  const settings = settingsOf(environment);
  const sources = {
    route: routes.metrics,
    forms: [],
    outboxDepth: async () => ({}),
    submissions: async () => expect.fail(),
    storeAnswers: async () => true,
    usesFallbackLimits: () => false,
  };
  const port = settings.metricsPort ?? expect.fail();
  const error = await openMetrics('127.0.0.1', port, sources).catch((fault: unknown) => fault);
  return describeStartFault(error, settings).sentence;
}

test('the error of a start names METRICS_PORT if it is in use, and suggests a port other than PORT', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const METRICS_PORT = `${port}`;
  expect(await saidOfMetrics({ METRICS_PORT })).toBe(
    `Port ${port} is already in use, so stop the other program, or set METRICS_PORT to a free port: METRICS_PORT=${port + 1} npm start`,
  );
  expect(await saidOfMetrics({ METRICS_PORT, PORT: `${port + 1}` })).toContain(`METRICS_PORT=${port + 2} npm start`);
  taken.close();
});

test.each([
  [3001, 'PORT=3002 npm start'],
  [65_534, 'PORT=65535 npm start'],
  [65_535, 'PORT=3000 npm start'],
])('the error of a start suggests a port other than the used port %i', (port, suggested) => {
  const fault = Object.assign(new Error(), { code: 'EADDRINUSE', port });
  const { sentence } = describeStartFault(fault, settingsOf({ PORT: `${port}` }));
  expect(sentence).toMatch(new RegExp(`^Port ${port} is already in use`));
  expect(sentence).toContain(suggested);
});

const remedy = 'DATA_DIR="$HOME/lead-intake" npm start';
const host = 'HOST is not an address of this machine, so set HOST=127.0.0.1, or HOST=0.0.0.0 for all addresses.';
const codes: [code: string, sentence: string, exitCode: number][] = [
  ...['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN'].map((code): [string, string, number] => [code, host, 78]),
  [
    'EACCES',
    `The service can’t listen on this port or can’t write a folder, so set PORT above 1023, or set DATA_DIR to a folder that you own: ${remedy}`,
    1,
  ],
  ['EROFS', `The disk is read-only, so set DATA_DIR to a folder that you can write: ${remedy}`, 1],
  ['EMFILE', 'The service could not start: It broke.', 1],
];
test.each(codes)('the error of a start for the code %s is %j with the status %i', (code, sentence, exitCode) => {
  const fault = Object.assign(new Error('It broke.'), { code });
  expect(describeStartFault(fault, settingsOf({}))).toEqual({ sentence, exitCode });
  expect(describeStartFault(fault)).toEqual({ sentence, exitCode });
});

test.each([
  [new CredentialsFault('Correct the file.'), 78],
  [new ContentFault('Correct the page.'), 78],
  [new StartFault('Remove the key.'), 1],
])('the error of a start is the own sentence of %s, with the status %i', (fault, exitCode) => {
  expect(describeStartFault(fault)).toEqual({ sentence: fault.message, exitCode });
});

test.each([
  ['42501', 'because this role may not use the tables. Let their owner grant all rights'],
  ['28P01', 'because the server refuses the password of this role. Correct the password'],
  ['53300', 'PostgreSQL can’t be used. It is away. Check DATABASE_URL.'],
])('the error of a start explains the SQLSTATE %s of PostgreSQL', (code, words) => {
  const away = new StorageUnavailable('It is away.', { cause: Object.assign(new Error(), { code }) });
  expect(databaseFault(away, settingsOf({ DATABASE_URL: 'postgres://127.0.0.1/none' }))).toContain(words);
});

test('the error of a start has a sentence before the settings are read', () => {
  const inUse = Object.assign(new Error(), { code: 'EADDRINUSE', port: 4000 });
  expect(describeStartFault(inUse).sentence).toMatch(/set PORT to a free port: PORT=4001 npm start$/);
  const away = new StorageUnavailable('It is away.');
  expect(describeStartFault(away).sentence).toBe(
    'The database can’t be used. It is away. Check DATABASE_URL, DATA_DIR and the disk.',
  );
});
