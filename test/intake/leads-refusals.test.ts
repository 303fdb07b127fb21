import { describe, expect, test } from 'vitest';
import { problems } from '../../src/failures/catalogue.ts';
import { call } from '../support/agent.ts';
import { encode, encodings, multipart, natives, post, postRaw } from '../support/forms.ts';
import { scenario } from '../support/scenario.ts';

const path = '/api/leads';
const quote = {
  form: 'homeowner_quote',
  name: 'Ada',
  email: 'ada@example.com',
  postal_code: '94110',
};
const at = scenario({ ALLOWED_ORIGINS: 'https://shop.example' });
const { expecting } = at;

/** Expects a refusal as JSON, or as a short HTML page with a way back, depending on the encoding. */
function expectRefusal(answer: Awaited<ReturnType<typeof post>>, encoding: string, status: number) {
  expect(answer.status).toBe(status);
  expect(answer.headers.get('cache-control')).toBe('no-store');
  if (encoding === 'json') expect(answer.body.error).toEqual(expect.any(String));
  else {
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(answer.text).toMatch(/<h1[\s\S]*<a [^>]*href="\/(quote|contact|contractors|newsletter)?"/);
  }
}

describe('POST /api/leads, refusals without a delivery (reference §4.4)', () => {
  test.each(encodings)('%s: returns 400 and lists missing fields', async (encoding) => {
    const answer = await expecting({}, () =>
      post(at.service, path, encoding, { form: 'homeowner_quote', email: 'nope', name: ' ' }),
    );
    expectRefusal(answer, encoding, 400);
    if (encoding === 'json') expect(answer.body.fields).toEqual(['name', 'postal_code']);
    else expect(answer.text).toMatch(/name.*postal_code/s);
  });

  test('returns 400 and lists missing fields if another field is not text', async () => {
    const given = { form: 'contact', email: 'a@b.co', subject: 5, phone: 1, message: ' ' };
    const answer = await expecting({}, () => postRaw(at.service, path, 'json', JSON.stringify(given)));
    expect(answer.status).toBe(400);
    // A field that is present but not text is not missing.
    expect(answer.body?.fields).toEqual(['name', 'message']);
  });

  test('returns 400 without a list of fields if no field is missing', async () => {
    const answer = await expecting({}, () => post(at.service, path, 'json', { ...quote, email: 'nope' }));
    expect(answer.status).toBe(400);
    expect(answer.body).toEqual({ error: expect.any(String) });
    expect(answer.body.error).not.toContain('nope');
  });

  test.each(encodings)(
    '%s: returns 413 for a native form and 400 for JSON with a value over 2000 characters, also of an unknown field',
    async (encoding) => {
      const status = encoding === 'json' ? 400 : 413;
      for (const name of ['message', 'unknown', 'email']) {
        const over = await expecting({}, () =>
          post(at.service, path, encoding, { ...quote, [name]: 'x'.repeat(2_001) }),
        );
        expectRefusal(over, encoding, status);
        if (encoding !== 'json') continue;
        const isNamed = name === 'message';
        expect(over.body?.error).toBe(
          isNamed ? 'message is longer than 2000 characters.' : problems.valueTooLong.error,
        );
      }
      await expecting({ forwarded: 1 }, () =>
        post(at.service, path, encoding, {
          ...quote,
          message: ` ${'é'.repeat(2_000)} `,
          unknown: 'x'.repeat(2_000),
        }),
      );
      const answer = await post(at.service, path, encoding, {
        form: 'contact',
        email: 'a@b.co',
        message: 'x'.repeat(2_001),
      });
      expect([answer.status, answer.body?.fields]).toEqual([
        status,
        encoding === 'json' ? ['name', 'subject'] : undefined,
      ]);
    },
  );

  test.each(encodings)(
    '%s: returns 413 for a native form and 400 for JSON with a value over the limit of its field',
    async (encoding) => {
      const signup = { form: 'contractor_signup', name: 'A', email: 'a@b.co', company: 'B' };
      const most = {
        name: 'x'.repeat(200),
        company: '\u{1f58c}'.repeat(200),
        phone: ` ${'1'.repeat(50)} `,
        company_size: 'x'.repeat(200),
      };
      await expecting({ forwarded: 1 }, () => post(at.service, path, encoding, { ...signup, ...most }));
      for (const [name, value] of Object.entries(most)) {
        const over = { ...signup, [name]: `${value.trim()}x` };
        const answer = await expecting({}, () => post(at.service, path, encoding, over));
        expectRefusal(answer, encoding, encoding === 'json' ? 400 : 413);
        if (encoding === 'json') {
          const { length } = [...value.trim()];
          expect(answer.body).toEqual({ error: `${name} is longer than ${length} characters.` });
        }
      }
      // The length is checked before other faults.
      const answer = await expecting({}, () =>
        post(at.service, path, encoding, { ...signup, name: ' ', phone: '1'.repeat(51) }),
      );
      expect([answer.status, answer.body?.fields]).toEqual(encoding === 'json' ? [400, ['name']] : [413, undefined]);
    },
  );

  test.each(encodings)(
    '%s: returns 400 for an e-mail address over 254 characters or with misplaced dots',
    async (encoding) => {
      const long = `a@${['b', 'c', 'd', 'e'].map((of) => of.repeat(62)).join('.')}.com`;
      expect(long).toHaveLength(257);
      for (const email of [long, `a@${'b'.repeat(250)}.co`, '.a@b.co', 'a.@b.co', 'a..b@b.co']) {
        for (const form of ['newsletter', 'contractor_signup']) {
          const given = { form, name: 'A', email, company: 'B' };
          const answer = await expecting({}, () => post(at.service, path, encoding, given));
          expectRefusal(answer, encoding, 400);
        }
      }
    },
  );

  test.each(encodings)(
    '%s: accepts 20 fields and names of 100 characters, and returns 400 for 21 fields or 101 characters',
    async (encoding) => {
      const fill = (count: number) => Object.fromEntries(Array.from({ length: count - 4 }, (_, n) => [`f${n}`, '']));
      await expecting({ forwarded: 1 }, () => post(at.service, path, encoding, { ...quote, ...fill(20) }));
      expectRefusal(
        await expecting({}, () => post(at.service, path, encoding, { ...quote, ...fill(21) })),
        encoding,
        400,
      );
      await expecting({ forwarded: 1 }, () => post(at.service, path, encoding, { ...quote, ['n'.repeat(100)]: '' }));
      expectRefusal(
        await expecting({}, () => post(at.service, path, encoding, { ...quote, ['n'.repeat(101)]: '' })),
        encoding,
        400,
      );
    },
  );

  test('uses the last value of a repeated field, and counts each repetition towards the limit of 20 fields', async () => {
    const twice = 'email=first%40b.co&email=last%40b.co';
    await expecting({ forwarded: 1 }, () => postRaw(at.service, path, 'urlencoded', twice));
    expect(at.upstream.delivered.at(-1)?.event.data.fields).toEqual({ email: 'last@b.co' });
    expectRefusal(
      await expecting({}, () => postRaw(at.service, path, 'urlencoded', `${twice}${'&x='.repeat(19)}`)),
      'urlencoded',
      400,
    );
  });

  test.each([
    '{',
    '',
    '[]',
    'null',
    '"x"',
    '{"email":null}',
    '{"email":"a@b.co","x":1}',
    '{"email":{}}',
    '{"email":["a@b.co"]}',
    '{"bot-field":1}',
    '{"bot-field":"x","y":null}',
  ])('returns 400 for the invalid JSON form %s', async (body) => {
    expectRefusal(await expecting({}, () => postRaw(at.service, path, 'json', body)), 'json', 400);
  });

  test.each([
    undefined,
    'text/plain',
    'application/xml',
    'multipart/mixed; boundary=x',
    'nonsense',
    'application/jsonx',
  ])('returns 400 with a JSON body for the content type %s', async (type) => {
    const body = Buffer.from(encode('json', quote));
    const answer = await expecting({}, () =>
      call(at.service, path, {
        body,
        ...(type === undefined ? {} : { headers: { 'content-type': type } }),
      }),
    );
    expectRefusal(answer, 'json', 400);
  });

  test('accepts a native body of 32,000 bytes, and returns 413 for 32,001 bytes or JSON over 512 KiB', async () => {
    const padded = (encoding: 'urlencoded' | 'multipart', length: number) => {
      const fields = {
        ...quote,
        ...Object.fromEntries(Array.from({ length: 15 }, (_, n) => [`f${n}`, 'x'.repeat(1_900)])),
      };
      const size = encode(encoding, { ...fields, z: '' }).length;
      return encode(encoding, { ...fields, z: ' '.repeat(length - size) });
    };
    for (const encoding of natives) {
      await expecting({ forwarded: 1 }, () => postRaw(at.service, path, encoding, padded(encoding, 32_000)));
      expectRefusal(
        await expecting({}, () => postRaw(at.service, path, encoding, padded(encoding, 32_001))),
        encoding,
        413,
      );
    }
    expectRefusal(await postRaw(at.service, path, 'json', `{"x":"${'x'.repeat(600_000)}"}`), 'json', 413);
  });

  test.each(encodings)(
    '%s: returns 400 for a Content-Encoding and for a charset other than UTF-8',
    async (encoding) => {
      expectRefusal(
        await expecting({}, () => post(at.service, path, encoding, quote, { 'content-encoding': 'gzip' })),
        encoding,
        400,
      );
      const type = {
        json: 'application/json',
        urlencoded: 'application/x-www-form-urlencoded',
        multipart: 'multipart/form-data; boundary=----boundary-of-the-tests',
      }[encoding];
      const foreign = { 'content-type': `${type}; charset=iso-8859-1` };
      const answer = await expecting({}, () => post(at.service, path, encoding, quote, foreign));
      expectRefusal(answer, encoding, 400);
      expect(answer.text).toContain('The request declares an encoding other than UTF-8. Nothing was sent.');
      expect(
        (
          await post(at.service, path, encoding, quote, {
            'content-type': `${type}; charset=UTF-8`,
          })
        ).status,
      ).toBeLessThan(400);
    },
  );

  test('returns 400 for invalid UTF-8, raw or percent-encoded', async () => {
    const latin1 = (text: string) => Buffer.from(text, 'latin1');
    for (const body of [
      latin1('email=a%40b.co&name=%FF'),
      latin1('email=a%40b.co&name=\xff'),
      latin1('email=a%40b.co&%C3=x'),
      latin1('email=a%40b.co&x=%C3&y=%A9'),
    ]) {
      expectRefusal(await expecting({}, () => postRaw(at.service, path, 'urlencoded', body)), 'urlencoded', 400);
    }
    expectRefusal(
      await expecting({}, () => postRaw(at.service, path, 'json', latin1('{"email":"a@b.co","x":"\xff"}'))),
      'json',
      400,
    );
    expectRefusal(
      await expecting({}, () =>
        postRaw(
          at.service,
          path,
          'multipart',
          multipart([
            ['email', 'a@b.co'],
            ['x', latin1('\xff')],
          ]),
        ),
      ),
      'multipart',
      400,
    );
  });

  test.each([
    [
      'a multipart form with a file',
      'Content-Disposition: form-data; name="f"; filename="a.txt"\r\nContent-Type: text/plain',
    ],
    [
      'a multipart form with an empty file, as browsers send it',
      'Content-Disposition: form-data; name="f"; filename=""\r\nContent-Type: application/octet-stream',
    ],
  ])('returns 400 for %s', async (_name, head) => {
    const answer = await expecting({}, () =>
      postRaw(
        at.service,
        path,
        'multipart',
        multipart([
          ['email', 'a@b.co'],
          ['bot-field', 'x'],
          ['f', '', head],
        ]),
      ),
    );
    expectRefusal(answer, 'multipart', 400);
  });

  test('returns 400 within a second for every malformed multipart body', async () => {
    const whole = multipart([
      ['email', 'a@b.co'],
      ['name', 'Ada'],
    ]).toString();
    const shapes: Record<string, string> = {
      empty: '',
      'no boundary at all': 'email=a',
      'no closing boundary': whole.replace(/--\r\n$/, '\r\n'),
      'cut in a value': whole.slice(0, 90),
      'cut in a head': whole.slice(0, 50),
      'no name': whole.replace(' name="email"', ''),
      'no disposition': whole.replace('Content-Disposition', 'X-Disposition'),
      'no head': whole.replace(/Content-Disposition[^\r]*\r\n/, ''),
      'no empty line': whole.replace('"email"\r\n\r\n', '"email"\r\n'),
      'another disposition': whole.replace('form-data', 'attachment'),
      'bare line feeds': whole.replaceAll('\r\n', '\n'),
      'an unclosed quote': whole.replace('"email"', '"email'),
    };
    for (const [name, body] of Object.entries(shapes)) {
      const before = performance.now();
      const answer = await expecting({}, () => postRaw(at.service, path, 'multipart', body));
      expect([name, answer.status]).toEqual([name, 400]);
      expect(performance.now() - before).toBeLessThan(1_000);
    }
    for (const type of [
      'multipart/form-data',
      'multipart/form-data; boundary=',
      'multipart/form-data; boundary=other',
    ]) {
      expect(
        (await expecting({}, () => postRaw(at.service, path, 'multipart', whole, { 'content-type': type }))).status,
      ).toBe(400);
    }
  });
});
