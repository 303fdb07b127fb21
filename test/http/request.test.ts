/** Functions that read header lines and the bytes of a body (reference §3.2). */
import { describe, expect, test } from 'vitest';
import { bounds } from '../../src/forms/bounds.ts';
import {
  childTraceparent,
  declaresOtherCharset,
  decodeUtf8,
  mediaType,
  ownReferer,
  parseJson,
  parseJsonObject,
  parseTraceparent,
} from '../../src/http/request.ts';

describe('mediaType', () => {
  test('returns the type without its parameters', () => {
    expect(mediaType('Text/HTML; charset=utf-8')?.essence).toBe('text/html');
  });

  test.each([undefined, '', 'text', 'text/', 'a b/c'])('returns undefined for %j', (header) => {
    expect(mediaType(header)).toBeUndefined();
  });
});

describe('declaresOtherCharset', () => {
  test.each([
    'text/plain;charset=latin1',
    'text/plain; Charset="ISO-8859-1"',
    'text/plain ;  charset = utf-16',
    'text/plain; format=flowed; charset=utf-16',
    'text/plain; charset=utf-8; charset=latin1',
    'text/plain; charset=utf-8;text/plain; charset=latin1',
    'text/plain; x="a\\";b"; charset=latin1',
    'text/plain; x="a;b"; charset=latin1',
    'text/plain; charset="\\u\\t\\f"',
    'text/plain; charset=""',
    'text/plain; charset="latin1',
    'text/plain; charset="latin1; x=utf-8',
    'text/plain; charset="',
    'text/plain; x="a;text/plain; charset=latin1',
    'text/plain; charset=xutf-8',
    'text/plain; charset=utf-80',
    'text/plain; charset=utf-8 x',
    'text/plain; charset=utf--8',
    'text/plain; charset=u',
    ';charset=latin1',
  ])('returns true for %s', (types) => {
    expect(declaresOtherCharset(types)).toBe(true);
  });

  test.each([
    '',
    'text/plain',
    'charset=latin1',
    'text/plain; charset',
    'text/plain; charset=',
    'text/plain; charset=; x=latin1',
    'text/plain; charset=utf-8',
    'text/plain; charset=UTF8',
    'text/plain; charset=utf-8 ; x=latin1',
    'text/plain; charset="utf-8"',
    'text/plain; charset="utf-8',
    'text/plain; charset=" utf-8 "',
    'text/plain; charset="\\ut\\f-8"',
    'text/plain; charset="\\u\\t\\f\\-\\8"',
    'text/plain; charset=utf-8; charset="utf-8"',
    'text/plain; charsets=latin1',
    'text/plain; xcharset=latin1',
    'text/plain; x=charset',
    'text/plain; x="a; charset=latin1"',
    'text/plain; x="a\\"; charset=latin1"',
  ])('returns false for %j', (types) => {
    expect(declaresOtherCharset(types)).toBe(false);
  });
});

describe('decodeUtf8', () => {
  test('returns the text without one leading byte order mark', () => {
    expect(decodeUtf8(Buffer.from('\ufeffZoë'))).toBe('Zoë');
    expect(decodeUtf8(Buffer.from('\ufeff\ufeffZoë'))).toBe('\ufeffZoë');
    expect(decodeUtf8(Buffer.from('Zoë\ufeff'))).toBe('Zoë\ufeff');
    expect(decodeUtf8(Buffer.from(''))).toBe('');
  });

  test('returns undefined for bytes that are not UTF-8', () => {
    expect(decodeUtf8(Buffer.from([0x61, 0xc3]))).toBeUndefined();
  });
});

describe('parseJson', () => {
  const parse = (text: string) => parseJson(Buffer.from(text));
  const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
  const deepest = deep(bounds.jsonDepth);

  test('returns a value of any type', () => {
    for (const value of [null, 1, 'a', [1], { a: { b: [] } }]) {
      expect(parse(JSON.stringify(value))).toEqual({ kind: 'value', value });
    }
  });

  test('refuses invalid UTF-8 and invalid JSON', () => {
    expect(parseJson(Buffer.from([0x22, 0xff, 0x22]))).toEqual({ kind: 'invalidUtf8' });
    for (const text of ['', '{', '"never closed', '"never closed\\', ']']) {
      expect(parse(text)).toEqual({ kind: 'invalidJson' });
    }
  });

  test.each([
    ['arrays', deepest],
    ['objects', `${'{"a":'.repeat(bounds.jsonDepth)}1${'}'.repeat(bounds.jsonDepth)}`],
    ['arrays after other arrays', `[${deep(bounds.jsonDepth - 1)},${deep(bounds.jsonDepth - 1)}]`],
    ['arrays after objects', `[{},{},${deep(bounds.jsonDepth - 1)}]`],
    ['arrays beside a string of brackets', `["[[{{",${deep(bounds.jsonDepth - 1)}]`],
    ['arrays beside a string of brackets after an escaped quote', `["\\"[[{{",${deep(bounds.jsonDepth - 1)}]`],
    ['arrays beside a string of closing brackets', `[${deep(bounds.jsonDepth - 1)},"]]}}"]`],
  ])('accepts the deepest allowed nesting of %s', (_name, text) => {
    expect(parse(text).kind).toBe('value');
  });

  test.each([
    ['arrays', deep(bounds.jsonDepth + 1)],
    ['objects', `${'{"a":'.repeat(bounds.jsonDepth + 1)}1${'}'.repeat(bounds.jsonDepth + 1)}`],
    ['arrays after other arrays', `[${deepest},[]]`],
    ['arrays beside a string of closing brackets', `["]]}}",${deepest}]`],
    ['arrays beside an escaped quote', `["\\"",${deepest}]`],
    ['arrays beside an escaped backslash', `["\\\\",${deepest}]`],
    ['arrays that are never closed', '['.repeat(bounds.jsonDepth + 1)],
    ['objects that are never closed', '{"a":'.repeat(bounds.jsonDepth + 1)],
  ])('refuses one level more of %s', (_name, text) => {
    expect(parse(text)).toEqual({ kind: 'jsonTooDeep' });
  });
});

describe('parseJsonObject', () => {
  test('returns an object with the last value of a repeated name', () => {
    expect(parseJsonObject(Buffer.from('{"a":1,"a":2}'))).toEqual({ kind: 'object', value: { a: 2 } });
  });

  test.each(['null', '[]', '"a"', '1', 'true'])('refuses %s, which is not an object', (text) => {
    expect(parseJsonObject(Buffer.from(text))).toEqual({ kind: 'invalidJson' });
  });

  test('returns the reason why JSON was not parsed', () => {
    expect(parseJsonObject(Buffer.from([0xff]))).toEqual({ kind: 'invalidUtf8' });
    expect(parseJsonObject(Buffer.from('['.repeat(bounds.jsonDepth + 1)))).toEqual({ kind: 'jsonTooDeep' });
  });
});

describe('traceparent', () => {
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const span = 'b7ad6b7169203331';
  const valid = `00-${traceId}-${span}-01`;

  test('has a trace id and flags', () => {
    expect(parseTraceparent(valid)).toEqual({ traceId, flags: '01' });
    expect(parseTraceparent(`00-${'0'.repeat(31)}1-${'0'.repeat(15)}1-ff`)).toEqual({
      traceId: `${'0'.repeat(31)}1`,
      flags: 'ff',
    });
  });

  test.each([
    ['it is missing', undefined],
    ['it came twice', [valid, valid]],
    ['it is a list', [valid]],
    ['it is empty', ''],
    ['its version is unknown', `01-${traceId}-${span}-01`],
    ['it is in upper case', valid.toUpperCase()],
    ['its trace id is zero', `00-${'0'.repeat(32)}-${span}-01`],
    ['its span is zero', `00-${traceId}-${'0'.repeat(16)}-01`],
    ['its trace id is too short', `00-${traceId.slice(1)}-${span}-01`],
    ['its span is too short', `00-${traceId}-${span.slice(1)}-01`],
    ['its span has another letter', `00-${traceId}-g${span.slice(1)}-01`],
    ['its flags are too short', `00-${traceId}-${span}-1`],
    ['its flags are no number', `00-${traceId}-${span}-0g`],
    ['it has a further part', `${valid}-00`],
    ['it starts with a space', ` ${valid}`],
  ])('is ignored if %s', (_name, header) => {
    expect(parseTraceparent(header)).toBeUndefined();
  });

  test('names the same trace and a new span in a call that the request makes', () => {
    const child = childTraceparent(parseTraceparent(valid));
    expect(child).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
    expect(child).not.toBe(childTraceparent(parseTraceparent(valid)));
    expect(childTraceparent(undefined)).toBeUndefined();
  });
});

describe('ownReferer', () => {
  test('returns the path of a page of this host', () => {
    expect(ownReferer('https://paint.example/quote?name=Ada#top', 'paint.example')).toBe('/quote');
    expect(ownReferer('http://paint.example:8080/', 'paint.example')).toBe('/');
  });

  test.each([undefined, '', '/quote', 'paint.example/quote', 'https://evil.example/quote'])(
    'returns undefined for %j',
    (referer) => {
      expect(ownReferer(referer, 'paint.example')).toBeUndefined();
    },
  );
});
