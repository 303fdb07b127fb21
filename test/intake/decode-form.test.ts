import { describe, expect, test, vi } from 'vitest';
import { decodeForm, encodingOf, type FormRequest } from '../../src/intake/decode-form.ts';
import { multipart, postRaw } from '../support/forms.ts';
import { scenario } from '../support/scenario.ts';

const at = scenario();
const latin1 = (text: string) => Buffer.from(text, 'latin1');

const decode = (contentType: string, bytes: Buffer) =>
  decodeForm(
    {
      contentType,
      takeFromLimit: () => expect.fail(),
      readBody: async () => ({ kind: 'read', bytes }),
      traceparent: undefined,
    },
    8_000,
  );

const MULTIPART = 'multipart/form-data; boundary=----boundary-of-the-tests';

describe('encodingOf', () => {
  test.each([
    ['application/json', 'json'],
    ['APPLICATION/JSON; charset=utf-8', 'json'],
    ['application/x-www-form-urlencoded', 'urlencoded'],
    ['multipart/form-data; boundary=x', 'multipart'],
    ['multipart/mixed; boundary=x', undefined],
    ['application/json+ld', undefined],
    ['__proto__/x', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('returns for %j the encoding %s', (type, encoding) => {
    expect(encodingOf(type)).toBe(encoding);
  });
});

describe('decodeForm (reference §4.1)', () => {
  test.each([
    ['application/json', 512 * 1024],
    ['application/x-www-form-urlencoded', 8_000],
    ['multipart/form-data; boundary=x', 8_000],
  ])('reads a %s body up to %i bytes', async (contentType, bound) => {
    const readBody = vi.fn<FormRequest['readBody']>(async () => ({ kind: 'bodyAborted' }));
    const request = { contentType, takeFromLimit: () => expect.fail(), traceparent: undefined };
    expect(await decodeForm({ ...request, readBody }, 8_000)).toEqual({ kind: 'bodyAborted' });
    expect(readBody.mock.calls).toEqual([[bound]]);
  });

  test.each(['text/plain', undefined])('does not read a body of type %s', async (contentType) => {
    const readBody = () => expect.fail();
    const request = { contentType, takeFromLimit: () => expect.fail(), traceparent: undefined };
    expect(await decodeForm({ ...request, readBody }, 8_000)).toEqual({ kind: 'contentType' });
  });

  test('returns names and texts in their order, and the last value of a repeated field', async () => {
    const body = Buffer.from('b=1&a=2&b=3&__proto__=4');
    const form = await decode('application/x-www-form-urlencoded', body);
    expect(form).toEqual({
      kind: 'form',
      values: Object.assign(Object.create(null), { b: '3', a: '2', ['__proto__']: '4' }),
      names: ['b', 'a', 'b', '__proto__'],
      texts: ['1', '2', '3', '4'],
      file: false,
      notText: false,
    });
  });

  test('rejects a part with Content-Transfer-Encoding, which would be decoded to other characters', async () => {
    const head = 'Content-Disposition: form-data; name="a"';
    const encoded = `${head}\r\nContent-Transfer-Encoding: base64`;
    const value = Buffer.from('aĠb ŁŎ').toString('base64');
    expect(await decode(MULTIPART, multipart([['a', value, encoded]]))).toEqual({
      kind: 'malformedForm',
    });
  });

  test.each([
    ['charset=iso-8859-1', 'charset'],
    ['Charset="ISO-8859-1"', 'charset'],
    ['format=flowed; charset=utf-16', 'charset'],
    ['charset=UTF-8', 'form'],
    ['charset="utf\\-8"', 'form'],
    ['format=charset', 'form'],
  ])('treats a part that declares %s as %s', async (parameter, kind) => {
    const head = `Content-Disposition: form-data; name="a"\r\nContent-Type: text/plain; ${parameter}`;
    // A value that looks like a header declares nothing.
    const value = 'Content-Type: text/plain; charset=latin1\r\n\r\nb';
    const body = multipart([
      ['b', value],
      ['a', '1', head],
    ]);
    expect(await decode(MULTIPART, body)).toMatchObject({ kind });
  });

  test('reports that a value is not text, and that a part is a file', async () => {
    const json = Buffer.from('{"a":"1","b":2,"c":null}');
    expect(await decode('application/json', json)).toMatchObject({
      values: { a: '1' },
      names: ['a', 'b', 'c'],
      texts: ['1'],
      file: false,
      notText: true,
    });
    const head = 'Content-Disposition: form-data; name="f"; filename="a.txt"';
    expect(
      await decode(
        MULTIPART,
        multipart([
          ['a', '1'],
          ['f', 'x', head],
        ]),
      ),
    ).toMatchObject({
      values: { a: '1' },
      names: ['a', 'f'],
      texts: ['1'],
      file: true,
      notText: false,
    });
  });
});

describe('decodeForm, cost of refusals (reference §3.6)', () => {
  /** Returns the minimum duration of each run, in turn, to reduce noise from a busy machine. */
  async function leastOf(...runs: (() => unknown)[]): Promise<number[]> {
    const least = runs.map(() => Number.POSITIVE_INFINITY);
    for (let times = 0; times < 12; times += 1) {
      for (const [n, run] of runs.entries()) {
        const before = performance.now();
        await run();
        least[n] = Math.min(least[n] ?? 0, performance.now() - before);
      }
    }
    return least;
  }

  test('reads 100 parts, and rejects more than 100 faster than it reads 100', async () => {
    const of = (count: number) => multipart(Array.from({ length: count }, (_, n) => [`n${n}`, ''] as const));
    expect(await decode(MULTIPART, of(100))).toMatchObject({ kind: 'form', names: { length: 100 } });
    expect(await decode(MULTIPART, of(101))).toEqual({ kind: 'malformedForm' });
    const [many = 0, few = 0] = await leastOf(
      () => decode(MULTIPART, of(400)),
      () => decode(MULTIPART, of(100)),
    );
    expect(many).toBeLessThan(few);
  });
});

describe('a multipart value that looks like parts', () => {
  test.each([
    ['lines that begin with two hyphens', '\r\n--'.repeat(200)],
    ['a part of another boundary in Latin-1', '\r\n--x\r\nContent-Type: text/plain; charset=latin1\r\n\r\nx'],
  ])('is one value: %s', async (_what, value) => {
    expect(await decode(MULTIPART, multipart([['message', value]]))).toMatchObject({ values: { message: value } });
  });

  test('may have a head whose name only ends like that of the content type', async () => {
    const head = 'Content-Disposition: form-data; name="message"\r\nX-Content-Type: text/plain; charset=latin1';
    expect(await decode(MULTIPART, multipart([['', 'x', head]]))).toMatchObject({ values: { message: 'x' } });
  });
});

describe('UTF-8 (reference §3.2)', () => {
  const contact = 'form=contact&email=a%40b.co&subject=S&message=M&name=';

  test.each([
    ['raw', 'Zoë דוד'],
    ['percent-encoded, in either case', 'Zo%c3%AB%20%D7%93%d7%95%d7%93'],
    ['half raw and half percent-encoded', 'Zoë%20%D7%93וד'],
  ])('forwards urlencoded text unchanged if it is %s', async (_how, name) => {
    await at.expecting({ forwarded: 1 }, () =>
      postRaw(at.service, '/api/leads', 'urlencoded', Buffer.from(contact + name)),
    );
    expect(at.upstream.delivered.at(-1)?.event.data.fields).toMatchObject({ name: 'Zoë דוד' });
  });

  /** Builds a multipart body with one byte per character of name and value. */
  const parts = (name: string, value: string) => {
    const body = multipart([
      ['email', 'a@b.co'],
      ['NAME', latin1(value)],
    ]);
    return latin1(body.toString('latin1').replace('NAME', name));
  };

  test.each([
    ['urlencoded', 'a character half raw and half percent-encoded', latin1(`${contact}\xc3%A9`)],
    ['urlencoded', 'half a character, percent-encoded', latin1(`${contact}%c3`)],
    ['urlencoded', 'half a character, raw', latin1(`${contact}\xc3`)],
    ['multipart', 'half a character in a value', parts('name', '\xc3')],
    ['multipart', 'half a character in a name', parts('n\xc3me', 'x')],
  ] as const)('%s: returns 400 with cause and advice for invalid UTF-8: %s', async (encoding, _what, body) => {
    for (const path of ['/api/leads', '/api/subscribe']) {
      const answer = await at.expecting({}, () => postRaw(at.service, path, encoding, body));
      expect(answer.status).toBe(400);
      expect(answer.text).toContain('The text is not valid UTF-8. Nothing was sent.');
      expect(answer.text).toContain('The page that you used must be set to UTF-8. Please tell its operator');
    }
  });
});
