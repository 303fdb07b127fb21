/** `npm run verify-receipt` (beyond §5): 0 valid, 1 not, 2 usage or unreadable. */
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { execute, getReceipt, keysOf, newKey } from '../support/receipts.ts';
import { type Service, startService } from '../support/service.ts';
import { runService, temporaryFolder } from './run-service.ts';

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

describe('a valid receipt', () => {
  test.each(['receipt.json', 'receipt.txt'])('%s ends with 0 and is told in full', async (file) => {
    const ran = await verify([file, ...offline()]);
    expect([ran.status, ran.stderr]).toEqual([0, '']);
    expect(ran.stdout).toMatch(/^Valid\.\nClaims\n/);
    expect(ran.stdout).toContain(`jti                  "${body.receipt.action_id}"`);
    expect(ran.stdout).toMatch(/^Fields\n {2}name +"Ada"$/m);
    // Nothing that was typed makes a line of its own.
    expect(ran.stdout).toMatch(/subject +"Red"\n {2}message +"a\\nb"\n$/);
  });

  test('as JSON', async () => {
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

  test('with the keys of its issuer, which is BASE_URL unless another is named', async () => {
    expect((await verify(['receipt.json', '--issuer', service.url])).status).toBe(0);
    expect((await verify(['receipt.json'], { BASE_URL: service.url })).status).toBe(0);
    const jwks = `${service.url}/.well-known/jwks.json`;
    expect((await verify(['receipt.json', '--issuer', service.url, '--jwks', jwks])).status).toBe(
      0,
    );
  });
});

describe('ends with 1', () => {
  test('where something was changed', async () => {
    const ran = await verify(['changed.json', ...offline()]);
    const sentence = 'Not valid. The receipt is not the one that was signed.\n';
    expect([ran.status, ran.stdout, ran.stderr]).toEqual([1, '', sentence]);
    const { status, stdout } = await verify(['changed.json', '--json', ...offline()]);
    expect([status, JSON.parse(stdout)]).toMatchObject([1, { valid: false }]);
  });

  test('where another issued it', async () => {
    const ran = await verify([
      ...['receipt.json', '--issuer', 'https://x.example'],
      ...['--jwks', 'jwks.json'],
    ]);
    expect([ran.status, ran.stderr]).toEqual([
      1,
      'Not valid. It was not issued by https://x.example.\n',
    ]);
  });

  test('where the file holds none', async () => {
    expect((await verify(['jwks.json', ...offline()])).status).toBe(1);
  });
});

describe('ends with 2', () => {
  test.each([
    ['no file', []],
    ['a file that is not there', ['nothing.json', '--issuer', 'https://x.example']],
    ['two files', ['receipt.json', 'receipt.txt']],
    ['an unknown option', ['receipt.json', '--key', 'x']],
    ['keys that are not there', ['receipt.json', '--jwks', 'nothing.json']],
    ['keys that are none', ['receipt.json', '--jwks', 'receipt.json']],
    ['nobody at the address', ['receipt.json', '--jwks', 'http://127.0.0.1:1/jwks.json']],
  ])('%s', async (_name, args) => {
    const ran = await verify(args);
    expect([ran.status, ran.stdout]).toEqual([2, '']);
    expect(ran.stderr).toMatch(/^[^\n]+\n$/);
  });

  test('where the address of the keys leads elsewhere', async () => {
    const jwks = `${service.url}/.well-known/jwks.json`;
    const server = createServer((_request, response) =>
      response.writeHead(302, { location: jwks }).end(),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const ran = await verify(['receipt.json', '--issuer', service.url, '--jwks', url]);
    expect(ran.status).toBe(2);
    server.close();
  });
});
