/** A body is valid UTF-8 or refused (ASVS 5.2.3). The service neither decompresses a body nor guesses its charset. */
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { problems } from '../../src/failures/catalogue.ts';
import { type Answer, call, quote } from '../support/agent.ts';
import { type Encoding, encode } from '../support/forms.ts';
import { scenario } from '../support/scenario.ts';
import { tokens } from '../support/service.ts';

const at = scenario();
const boundary = '----boundary-of-the-tests';
const types: Record<Encoding, string> = {
  json: 'application/json',
  urlencoded: 'application/x-www-form-urlencoded',
  multipart: `multipart/form-data; boundary=${boundary}`,
};

type Target = { name: string; path: string; type: string; text: string };
const fields = { form: 'homeowner_quote', privacy: 'on', ...quote, name: 'Adä' };
const targets: Target[] = [
  ...(['/api/leads', '/api/subscribe'] as const).flatMap((path) =>
    (['json', 'urlencoded', 'multipart'] as const).map((encoding) => ({
      name: `${path} in ${encoding}`,
      path,
      type: types[encoding],
      text: encode(encoding, fields).toString(),
    })),
  ),
  ...['preview', 'execute'].map((step) => ({
    name: step,
    path: `/api/agent/actions/homeowner_quote/${step}`,
    type: 'application/json',
    text: JSON.stringify(fields),
  })),
];

function send({ path, type }: Target, body: Buffer, headers: Record<string, string> = {}) {
  const agent = { authorization: `Bearer ${tokens.both}`, 'idempotency-key': 'encodings' };
  return call(at.service, path, { headers: { 'content-type': type, ...agent, ...headers }, body });
}

/** Error sentences for a body that could not be decoded. */
const undecoded = [
  problems.contentEncoding.error,
  problems.charset.error,
  problems.invalidUtf8.error,
  problems.invalidJson.error,
] as string[];

/** Expects 400. For JSON the reason must be the encoding of the body. */
function expectUndecoded({ status, body }: Answer, { type }: Target): void {
  expect(status).toBe(400);
  if (type === types.json) expect(undecoded).toContain(body.error);
}

const compressions: [string, (text: Buffer) => Buffer][] = [
  ['gzip', gzipSync],
  ['x-gzip', gzipSync],
  ['deflate', deflateSync],
  ['deflate', deflateRawSync],
  ['br', brotliCompressSync],
  ['zstd', zstdCompressSync],
  ['gzip, br', (text) => brotliCompressSync(gzipSync(text))],
  ['identity', (text) => text],
  ['nonsense', (text) => text],
];

/** Encodes as UTF-7, with everything packed except letters and digits. */
const utf7 = (text: string) =>
  text.replace(/[^A-Za-z0-9]/g, (character) => {
    const packed = Buffer.from(character, 'utf16le').swap16().toString('base64');
    return `+${packed.replaceAll('=', '')}-`;
  });
const utf16le = (text: string) => Buffer.from(text, 'utf16le');
const utf32 = (text: string) =>
  Buffer.concat([...text].map((character) => Buffer.from([0, 0, 0, character.charCodeAt(0) & 127])));

const texts: [string, (text: string) => Buffer][] = [
  ['UTF-16, little end first', utf16le],
  ['UTF-16, big end first', (text) => utf16le(text).swap16()],
  ['UTF-16 with a mark', (text) => utf16le(`\ufeff${text}`)],
  ['UTF-16, big end first, with a mark', (text) => utf16le(`\ufeff${text}`).swap16()],
  ['UTF-32', utf32],
  ['UTF-7', (text) => Buffer.from(utf7(text))],
  ['Latin-1', (text) => Buffer.from(text, 'latin1')],
];

/** Malformed sequences that have fooled decoders, in place of a letter. */
const broken: [string, number[]][] = [
  ['an overlong slash', [0xc0, 0xaf]],
  ['an overlong NUL', [0xc0, 0x80]],
  ['a three-byte overlong', [0xe0, 0x80, 0xaf]],
  ['half of a surrogate pair', [0xed, 0xa0, 0x80]],
  ['a pair of encoded surrogates', [0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80]],
  ['more than Unicode has', [0xf4, 0x90, 0x80, 0x80]],
  ['five bytes', [0xf8, 0x88, 0x80, 0x80, 0x80]],
  ['a lone continuation', [0x80]],
  ['a start without its end', [0xe2, 0x82]],
  ['0xFF', [0xff]],
];

describe.each(targets)('compressed and oddly encoded bodies: $name', (target) => {
  test.each(compressions)(
    'returns 400 for Content-Encoding: %s before it decompresses anything',
    async (name, pack) => {
      const body = pack(Buffer.from(target.text));
      const answer = await at.expecting({}, () => send(target, body, { 'content-encoding': name }));
      expectUndecoded(answer, target);
    },
  );

  test.each(texts)('returns 400 for %s, with and without a charset', async (name, write) => {
    const body = write(target.text);
    // In an urlencoded body, Latin-1 equals percent-encoded UTF-8.
    if (name !== 'Latin-1' || !body.equals(Buffer.from(target.text))) {
      expectUndecoded(await at.expecting({}, () => send(target, body)), target);
    }
    const charset = name.replace(/,? (little|big|with).*/, '').toLowerCase();
    const type = { 'content-type': `${target.type}; charset=${charset}` };
    expectUndecoded(await at.expecting({}, () => send(target, body, type)), target);
  });

  test.each(broken)('returns 400 for %s', async (_name, bytes) => {
    const [before = '', after = ''] = target.text.replace('%C3%A4', 'ä').split('ä');
    const parts = [Buffer.from(before), Buffer.from(bytes), Buffer.from(after)];
    const raw = Buffer.concat(parts);
    expectUndecoded(await at.expecting({}, () => send(target, raw)), target);
    if (!target.name.includes('urlencoded')) return;
    const escaped = bytes.map((byte) => `%${byte.toString(16)}`).join('');
    const body = Buffer.from(before + escaped + after);
    expectUndecoded(await at.expecting({}, () => send(target, body)), target);
  });
});

test('ignores a leading byte order mark of UTF-8', async () => {
  for (const target of targets.filter(({ type }) => type === types.json)) {
    const body = Buffer.from(`\ufeff${target.text}`);
    const { status } = await send(target, body);
    // Execute has no token here, which it checks later.
    expect([status, target.name]).toEqual([target.name === 'execute' ? 400 : 200, target.name]);
  }
});
