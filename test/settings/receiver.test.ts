/** UPSTREAM_SECRET and UPSTREAM_HEADERS: keys and headers of each forward (reference §20.4). */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadEnvironment } from '../../src/settings/environment.ts';
import { readSettings } from '../../src/settings/settings.ts';

const UPSTREAM_URL = 'https://x.example';
const keyOf = (bytes: number, text: string) => Buffer.alloc(bytes, text);
const whsec = (key: Buffer) => `whsec_${key.toString('base64')}`;
const [one, two, three, four] = ['1', '2', '3', '4'].map((text) => keyOf(32, text)) as [Buffer, Buffer, Buffer, Buffer];

const read = (environment: Record<string, string>) => readSettings({ UPSTREAM_URL, ...environment });
function settingsOf(environment: Record<string, string>) {
  const result = read(environment);
  if (result.kind === 'invalid') throw new Error(result.faults.join('\n'));
  return result.settings;
}
function faultOf(environment: Record<string, string>): string {
  const result = read(environment);
  if (result.kind === 'valid' || result.faults.length !== 1) expect.fail(JSON.stringify(result));
  return result.faults[0] ?? '';
}

describe('UPSTREAM_SECRET', () => {
  test.each([
    ['one key', whsec(one), [one]],
    ['one key of 24 bytes, the minimum of Standard Webhooks', whsec(keyOf(24, 'k')), [keyOf(24, 'k')]],
    ['two keys', `${whsec(one)},${whsec(two)}`, [one, two]],
    ['three keys with blanks', ` ${whsec(one)} ,\t${whsec(two)},  ${whsec(three)} `, [one, two, three]],
  ])('accepts %s in the given order', (_, UPSTREAM_SECRET, secrets) => {
    expect(settingsOf({ UPSTREAM_SECRET }).upstream).toMatchObject({ kind: 'http', secrets });
  });

  test('has no key if it is not set', () => {
    expect(settingsOf({}).upstream).toMatchObject({ secrets: [] });
  });

  test.each([
    'canary',
    'whsec_',
    'whsec_canary!',
    ',',
    `${whsec(one)},canary`,
    `${whsec(one)} ${whsec(two)}`,
    `${whsec(one)},${two.toString('base64')}`,
    whsec(keyOf(7, 'key')),
    `${whsec(one)},${whsec(keyOf(7, 'key'))}`,
  ])('%j is rejected with the command that creates a key', (UPSTREAM_SECRET) => {
    const fault = faultOf({ UPSTREAM_SECRET });
    expect(fault).toMatch(/^UPSTREAM_SECRET must be [^\n]+ "whsec_\$\(openssl rand -base64 32\)"\.$/);
    expect(fault).not.toContain('canary');
  });

  test('is rejected with four keys', () => {
    const UPSTREAM_SECRET = [one, two, three, four].map(whsec).join(',');
    expect(faultOf({ UPSTREAM_SECRET })).toBe('UPSTREAM_SECRET must have at most three keys.');
  });

  test.each([
    `${whsec(one)},${whsec(one)}`,
    `${whsec(one)},${whsec(two)}, ${whsec(one)}`,
    // The same key in the other alphabet of base64, without padding.
    `whsec_${Buffer.alloc(32, 0xff).toString('base64')},whsec_${Buffer.alloc(32, 0xff).toString('base64url')}`,
  ])('%j is rejected because a key is repeated', (UPSTREAM_SECRET) => {
    expect(faultOf({ UPSTREAM_SECRET })).toBe('UPSTREAM_SECRET must not have a key twice.');
  });
});

describe('UPSTREAM_HEADERS', () => {
  const headersOf = (UPSTREAM_HEADERS: string) => settingsOf({ UPSTREAM_HEADERS }).upstreamHeaders;

  test.each([
    ['Authorization: Bearer abc', [['Authorization', 'Bearer abc']]],
    ['X-Key:abc', [['X-Key', 'abc']]],
    ['X-Key: \t a:b, "c" = d \t', [['X-Key', 'a:b, "c" = d']]],
    [
      'A: 1\nB: 2',
      [
        ['A', '1'],
        ['B', '2'],
      ],
    ],
    [
      '\r\nA: 1\r\n\r\n  \r\nB: 2\r\n',
      [
        ['A', '1'],
        ['B', '2'],
      ],
    ],
    ["!#$%&'*+-.^_`|~09aZ: x", [["!#$%&'*+-.^_`|~09aZ", 'x']]],
    ['__proto__: x', [['__proto__', 'x']]],
    ['\n \n', []],
  ])('%j is read line by line', (given, expected) => {
    expect(headersOf(given)).toEqual(expected);
  });

  test('is read from a file with LF or CRLF', () => {
    for (const end of ['\n', '\r\n']) {
      const path = join(mkdtempSync(join(tmpdir(), 'headers-')), 'value');
      writeFileSync(path, `A: 1${end}B: 2${end}`);
      expect(settingsOf({ UPSTREAM_HEADERS_FILE: path }).upstreamHeaders).toEqual([
        ['A', '1'],
        ['B', '2'],
      ]);
    }
  });

  test('is read from a line of .env with \\n in double quotes', () => {
    const folder = mkdtempSync(join(tmpdir(), 'headers-'));
    writeFileSync(join(folder, '.env'), 'UPSTREAM_HEADERS="A: 1\\nB: 2"\n');
    const { environment } = loadEnvironment(folder);
    expect(settingsOf({ UPSTREAM_HEADERS: environment.UPSTREAM_HEADERS ?? '' }).upstreamHeaders).toHaveLength(2);
  });

  test.each([
    'canary',
    ': canary',
    'Canary:',
    'Canary: ',
    'Canary : x',
    'Can ary: x',
    'Canäry: x',
    'Canary: ä',
    'Canary: a\tb\u0007',
    'Canary: a\rb',
    'Canary: a\u007f',
    ' Canary: x',
    '\tCanary: x',
    'Canary: \u00a0x',
    '(canary): x',
  ])('%j is rejected with the number of its line, without its text', (line) => {
    const fault = faultOf({ UPSTREAM_HEADERS: `A: 1\r\n\r\n${line}\nB: 2` });
    expect(fault).toBe('UPSTREAM_HEADERS must have Name: value in line 3, in visible ASCII characters.');
  });

  test.each([
    'content-type',
    'Content-Length',
    'Host',
    'User-Agent',
    'WEBHOOK-ID',
    'webhook-timestamp',
    'webhook-signature',
    'Idempotency-Key',
    'traceparent',
    'Connection',
    'Keep-Alive',
    'Proxy-Connection',
    'Proxy-Authenticate',
    'Proxy-Authorization',
    'TE',
    'Trailer',
    'Transfer-Encoding',
    'Upgrade',
    'Expect',
  ])('%s is rejected because the service or its HTTP client sets this header', (name) => {
    const fault = faultOf({ UPSTREAM_HEADERS: `A: 1\n${name}: canary` });
    expect(fault).toBe(
      'UPSTREAM_HEADERS must not set the header of line 2, which belongs to the service or its connection.',
    );
  });

  test('is rejected if a name occurs twice in any case', () => {
    expect(faultOf({ UPSTREAM_HEADERS: 'X-Key: canary\nA: 1\nx-key: canary' })).toBe(
      'UPSTREAM_HEADERS must not repeat the name of line 1 in line 3.',
    );
  });
});
