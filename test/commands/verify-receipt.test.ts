/** `npm run verify-receipt` (reference §7.4): 0 valid, 1 not valid, 2 usage error or unreadable input. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { userAgent } from '../../src/project.ts';
import { call, executeAction, previewAction, quote } from '../support/agent.ts';
import { execute, getReceipt, keysOf, newKey } from '../support/receipts.ts';
import { type Service, startService, tokens } from '../support/service.ts';
import { atTerminal, runService, temporaryFolder } from './run-service.ts';

let service: Service;
let folder: string;
// biome-ignore lint/suspicious/noExplicitAny: as it is answered
let body: any;
beforeAll(async () => {
  service = await startService({ environment: { RECEIPT_SIGNING_KEYS: newKey() } });
  const fields = {
    name: 'Ada',
    email: 'ada@example.com',
    subject: 'Red',
    message: 'a\nb',
  };
  body = (await getReceipt(service, await execute(service, 'contact', fields))).body;
  folder = temporaryFolder();
  writeFileSync(join(folder, 'receipt.json'), `${JSON.stringify(body)}\n`);
  const disclosures = body.disclosures.map((each: string) => `${each}~`).join('');
  writeFileSync(join(folder, 'receipt.txt'), body.signed_receipt + disclosures);
  writeFileSync(join(folder, 'jwks.json'), JSON.stringify(await keysOf(service)));
  const changed = { ...body, confirmed_via: 'page' };
  writeFileSync(join(folder, 'changed.json'), JSON.stringify(changed));
});
afterAll(() => service.close());

const verify = (args: string[], environment: Record<string, string> = {}) =>
  runService(['verify-receipt', ...args], { folder, environment });
const offline = () => ['--issuer', service.url, '--jwks', 'jwks.json'];

describe('verify-receipt, valid receipt', () => {
  test.each(['receipt.json', 'receipt.txt'])('exits with 0 for %s and prints all claims and fields', async (file) => {
    const ran = await verify([file, ...offline()]);
    expect([ran.status, ran.stderr]).toEqual([0, '']);
    expect(ran.stdout).toMatch(/^Valid\.\nClaims\n/);
    expect(ran.stdout).toContain(`jti                  "${body.receipt.action_id}"`);
    expect(ran.stdout).toMatch(/^Fields\n {2}name +"Ada"$/m);
    // A value with a line break stays on one line.
    expect(ran.stdout).toMatch(/subject +"Red"\n {2}message +"a\\nb"\n$/);
  });

  test('prints its result green and its heads bold on a terminal', async () => {
    const args = ['verify-receipt', 'receipt.json', ...offline()];
    const { stdout } = await runService(args, { folder, nodeOptions: atTerminal('stdout') });
    expect(stdout.startsWith('\u001B[32mValid.\u001B[0m\n\u001B[1mClaims\u001B[0m\n  ')).toBe(true);
  });

  test('says that a receipt of a sandbox client is of a test', async () => {
    const token = tokens.sandbox;
    const { body: preview } = await previewAction(service, 'homeowner_quote', quote, { token });
    const { body: executed } = await executeAction(service, preview.preview_id, { token });
    const read = await call(service, `/api/agent/receipts/${executed.receipt.action_id}`, {
      method: 'GET',
      headers: { authorization: `Bearer ${token}` },
    });
    writeFileSync(join(folder, 'test.json'), JSON.stringify(read.body));
    const { status, stdout } = await verify(['test.json', ...offline()]);
    expect(status).toBe(0);
    expect(stdout).toContain('This receipt is of a test. Nothing was sent.');
    expect(stdout).toMatch(/^ {2}sandbox +true$/m);
  });

  test('prints claims and fields with --json', async () => {
    const { status, stdout } = await verify(['receipt.json', '--json', ...offline()]);
    expect([status, JSON.parse(stdout)]).toEqual([
      0,
      {
        valid: true,
        claims: expect.objectContaining({ iss: service.url, client: 'acme' }),
        fields: expect.objectContaining({ email: 'ada@example.com' }),
      },
    ]);
  });

  test('fetches the keys from the issuer, by default from BASE_URL', async () => {
    expect((await verify(['receipt.json', '--issuer', service.url])).status).toBe(0);
    expect((await verify(['receipt.json'], { BASE_URL: service.url })).status).toBe(0);
    const jwks = `${service.url}/.well-known/jwks.json`;
    expect((await verify(['receipt.json', '--issuer', service.url, '--jwks', jwks])).status).toBe(0);
  });
});

test('verify-receipt fetches the keys with a User-Agent that names the service', async () => {
  const agents: (string | undefined)[] = [];
  const server = createServer(({ headers }, response) => {
    agents.push(headers['user-agent']);
    response.writeHead(403).end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  await verify(['receipt.json', '--issuer', `http://127.0.0.1:${port}`]);
  server.close();
  expect(agents).toEqual([userAgent()]);
});

describe('verify-receipt, invalid receipt', () => {
  test('exits with 1 if the receipt was changed', async () => {
    const ran = await verify(['changed.json', ...offline()]);
    const sentence = 'Not valid. The receipt is not the one that was signed.\n';
    expect([ran.status, ran.stdout, ran.stderr]).toEqual([1, '', sentence]);
    const { status, stdout } = await verify(['changed.json', '--json', ...offline()]);
    expect([status, JSON.parse(stdout)]).toMatchObject([1, { valid: false }]);
  });

  test('exits with 1 if another issuer signed the receipt', async () => {
    const ran = await verify([...['receipt.json', '--issuer', 'https://x.example'], ...['--jwks', 'jwks.json']]);
    expect([ran.status, ran.stderr]).toEqual([1, 'Not valid. The issuer is not https://x.example.\n']);
  });

  test('exits with 1 if the file holds no receipt', async () => {
    expect((await verify(['jwks.json', ...offline()])).status).toBe(1);
  });
});

describe('verify-receipt, unusable input', () => {
  test.each([
    ['no file', []],
    ['a missing file', ['nothing.json', '--issuer', 'https://x.example']],
    ['two files', ['receipt.json', 'receipt.txt']],
    ['an unknown option', ['receipt.json', '--key', 'x']],
    ['a missing key file', ['receipt.json', '--jwks', 'nothing.json']],
    ['a key file without keys', ['receipt.json', '--jwks', 'receipt.json']],
    ['a closed port', ['receipt.json', '--jwks', 'http://127.0.0.1:1/jwks.json']],
  ])('exits with 2 for %s', async (_name, args) => {
    const ran = await verify(args);
    expect([ran.status, ran.stdout]).toEqual([2, '']);
    expect(ran.stderr).toMatch(/^[^\n]+\n$/);
  });

  test('exits with 2 if the address of the keys redirects', async () => {
    const jwks = `${service.url}/.well-known/jwks.json`;
    const server = await serve((response) => response.writeHead(302, { location: jwks }).end());
    const ran = await verify(['receipt.json', '--issuer', service.url, '--jwks', server.url]);
    expect(ran.status).toBe(2);
    server.close();
  });

  test.each<[string, (response: ServerResponse) => void]>([
    ['sends an endless answer', (response) => endless(response)],
    ['answers with 64 KB and one byte', (response) => response.end(' '.repeat(64 * 1024 + 1))],
    [
      'answers with 256 MB of zeros, compressed',
      (response) =>
        Readable.from(zeros(256))
          .pipe(createGzip())
          .pipe(response.writeHead(200, { 'content-encoding': 'gzip' })),
    ],
    ['closes the connection midway', (response) => response.writeHead(200).write('{"keys":', () => response.destroy())],
    ['sends one byte every 200 ms', (response) => drip(response)],
  ])(
    'exits with 2 in bounded memory if the key server %s',
    async (_name, answer) => {
      const server = await serve(answer);
      const args = ['receipt.json', '--issuer', service.url, '--jwks', server.url];
      const ran = await runService(['verify-receipt', ...args], { folder, nodeOptions: MEASURED });
      server.close();
      const [, sentence, memory] = /^([^\n]+)\n(\d+)$/.exec(ran.stderr) ?? [];
      expect([ran.status, ran.stdout]).toEqual([2, '']);
      expect(sentence).toMatch(/returned no keys of at most 64 KB within 10 s/);
      expect(Number(memory)).toBeLessThan(200 * MEGABYTE);
    },
    30_000,
  );
});

test('verify-receipt accepts keys of exactly 64 KB', async () => {
  const keys = JSON.stringify(await keysOf(service));
  const server = await serve((response) => response.end(keys.padEnd(64 * 1024)));
  const ran = await verify(['receipt.json', '--issuer', service.url, '--jwks', server.url]);
  expect(ran).toMatchObject({ status: 0, stderr: '' });
  server.close();
});

test('verify-receipt warns of keys that come over http from another host', async () => {
  for (const given of [
    ['--issuer', 'http://[::ffff:127.0.0.1]:1'],
    ['--issuer', service.url, '--jwks', 'HTTP://[::ffff:127.0.0.1]:1/jwks.json'],
  ]) {
    const ran = await verify(['receipt.json', ...given]);
    expect(ran).toMatchObject({ status: 2, stdout: '' });
    expect(ran.stderr).toMatch(/^The keys come over http, .*\n/);
  }
});

const MEGABYTE = 1024 * 1024;

/** Node.js options that print the peak memory of the process, in bytes, on exit. */
const MEASURED = [
  '--import',
  `data:text/javascript,process.on('exit', () => process.stderr.write(String(process.resourceUsage().maxRSS * 1024)))`,
];

/** Yields megabytes one at a time, because children count this process's memory as theirs. */
function* zeros(megabytes: number): Generator<Buffer> {
  for (let count = 0; count < megabytes; count += 1) yield Buffer.alloc(MEGABYTE);
}

async function serve(answer: (response: ServerResponse) => void) {
  const server = createServer((_request, response) => answer(response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

function endless(response: ServerResponse): void {
  const chunk = Buffer.alloc(MEGABYTE, ' ');
  Readable.from(repeat(chunk)).pipe(response);
}

function* repeat<T>(value: T): Generator<T> {
  for (;;) yield value;
}

function drip(response: ServerResponse): void {
  const dripping = setInterval(() => response.write(' '), 200);
  response.on('close', () => clearInterval(dripping));
}
