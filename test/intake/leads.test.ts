import { describe, expect, test } from 'vitest';
import { call } from '../support/agent.ts';
import { encodings, post, postRaw } from '../support/forms.ts';
import { scenario } from '../support/scenario.ts';
import { freshAddress, startService } from '../support/service.ts';
import { answering } from '../support/upstream.ts';

const path = '/api/leads';
const quote = {
  form: 'homeowner_quote',
  name: 'Ada',
  email: 'ada@example.com',
  postal_code: '94110',
};
const at = scenario({ ALLOWED_ORIGINS: 'https://shop.example' });
const { clock, expecting } = at;

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

describe('POST /api/leads (reference §4.4)', () => {
  test.each(encodings)(
    '%s: forwards normalized fields once, then returns 200 or 303 to /thank-you',
    async (encoding) => {
      const answer = await expecting({ forwarded: 1 }, () =>
        post(at.service, path, encoding, {
          ...quote,
          email: ' ADA@example.com',
          phone: ' ',
          extra: 'x',
          'bot-field': '',
        }),
      );
      if (encoding === 'json') expect([answer.status, answer.body]).toEqual([200, { ok: true }]);
      else expect([answer.status, answer.headers.get('location')]).toEqual([303, '/thank-you']);
      expect(answer.headers.get('cache-control')).toBe('no-store');
      const { form, ...fields } = quote;
      expect(at.upstream.delivered.at(-1)?.event).toEqual({
        type: 'lead.created',
        timestamp: clock.now().toISOString(),
        data: {
          id: expect.any(String),
          form,
          fields,
          recipient: { id: 'c-1', name: 'Vetted Painters' },
          origin: 'browser',
          client: null,
          consent_recorded_at: null,
        },
      });
    },
  );

  test.each([
    ['contractor_signup', { name: 'A', company: 'B' }],
    ['contact', { name: 'A', subject: 'S', message: 'one\r\ntwo' }],
  ])('forwards a %s form without a recipient, because it is for the operator', async (form, fields) => {
    await expecting({ forwarded: 1 }, () => post(at.service, path, 'urlencoded', { form, email: 'a@b.co', ...fields }));
    expect(at.upstream.delivered.at(-1)?.event.data).toMatchObject({ form, recipient: null });
  });

  test.each([{}, { form: 'nope' }, { form: '__proto__' }, { form: '' }])(
    'forwards a missing or unknown form as a newsletter subscription without consent (%j)',
    async (fields) => {
      await expecting({ forwarded: 1 }, () =>
        post(at.service, path, 'json', { email: 'a@b.co', name: 'dropped', ...fields }),
      );
      expect(at.upstream.delivered.at(-1)?.event).toMatchObject({
        type: 'subscriber.created',
        data: { form: 'newsletter', fields: { email: 'a@b.co' }, consent_recorded_at: null },
      });
    },
  );

  test.each(encodings)(
    '%s: returns success for a filled honeypot, even with too many fields, and forwards nothing',
    async (encoding) => {
      const many = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`f${n}`, 'x'.repeat(100)]));
      const answer = await expecting({}, () =>
        post(at.service, path, encoding, { 'bot-field': 'x', ...many, email: 'nope' }),
      );
      expect(answer.status).toBe(encoding === 'json' ? 200 : 303);
    },
  );

  test.each(encodings)(
    '%s: returns the same headers for a filled honeypot as for the form of a person',
    async (encoding) => {
      const [person, bot] = await expecting({ forwarded: 1 }, async () => [
        await post(at.service, path, encoding, quote),
        await post(at.service, path, encoding, { ...quote, 'bot-field': 'x' }),
      ]);
      expect([...(bot?.headers.keys() ?? [])]).toEqual([...(person?.headers.keys() ?? [])]);
      const own = /^(?:date|x-request-id|submission-reference)$/;
      for (const [name, value] of person?.headers ?? []) {
        if (!own.test(name)) expect([name, bot?.headers.get(name)]).toEqual([name, value]);
      }
    },
  );

  test.each(encodings)('%s: forwards a form whose honeypot contains only white space', async (encoding) => {
    await expecting({ forwarded: 1 }, () => post(at.service, path, encoding, { ...quote, 'bot-field': ' \t' }));
  });

  test('forwards a traceparent with a new span id, and no traceparent if the request had none', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await post(at.service, path, 'json', quote, { traceparent });
    await post(at.service, path, 'json', quote);
    const [traced, plain] = at.upstream.delivered.slice(-2);
    expect(traced?.headers.traceparent).toMatch(
      /^00-0af7651916cd43dd8448eb211c80319c-(?!b7ad6b7169203331)[0-9a-f]{16}-01$/,
    );
    expect(plain?.headers.traceparent).toBeUndefined();
  });

  test.each([
    [200, { kind: 'confirmed', known: false, status: 200 }],
    [422, { kind: 'rejected', status: 422 }],
  ])('logs one line with the id, the form and the outcome if the upstream answers %i', async (status, outcome) => {
    at.upstream.answer = answering(status);
    await post(at.service, path, 'json', quote);
    const id = at.upstream.delivered.at(-1)?.event.data.id;
    const lines = at.service.logs.map((line) => JSON.parse(line));
    expect(lines.filter(({ submissionId }) => submissionId === id)).toEqual([
      expect.objectContaining({ msg: 'lead settled', form: 'homeowner_quote', outcome }),
    ]);
  });

  test('forwards text beyond ASCII unchanged in every encoding', async () => {
    for (const encoding of encodings) {
      await post(at.service, path, encoding, {
        ...quote,
        name: 'Zoë 🎨 דוד',
        message: 'a "quoted" & = + %41\nline',
      });
      expect(at.upstream.delivered.at(-1)?.event.data.fields).toMatchObject({
        name: 'Zoë 🎨 דוד',
        message: 'a "quoted" & = + %41\nline',
      });
    }
  });
});

describe('POST /api/leads, upstream and rate limit (reference §10.3, §4.4)', () => {
  test.each([400, 404, 409, 422, 429, 301, 500])(
    'returns 502 if the upstream answers %i, and no header of that answer',
    async (status) => {
      at.upstream.answer = answering(status, { 'retry-after': '99', 'x-secret': 'value' });
      for (const encoding of encodings) {
        const answer = await expecting({ forwarded: 1 }, () => post(at.service, path, encoding, quote));
        expectRefusal(answer, encoding, 502);
        expect(`${answer.text}${JSON.stringify([...answer.headers])}`).not.toMatch(/secret|"retry-after"/);
      }
    },
  );

  test('returns the success of a new subscription if the upstream answers 409 to a newsletter form', async () => {
    const fresh = await post(at.service, path, 'json', { email: 'a@b.co' });
    at.upstream.answer = answering(409);
    const known = await post(at.service, path, 'json', { email: 'a@b.co' });
    expect([known.status, known.text]).toEqual([fresh.status, fresh.text]);
  });

  test('accepts 5 valid submissions in 15 minutes from one address, and does not count invalid submissions', async () => {
    const headers = { 'x-forwarded-for': freshAddress() };
    for (let n = 0; n < 10; n += 1)
      expect((await post(at.service, path, 'json', { email: 'nope' }, headers)).status).toBe(400);
    for (let n = 0; n < 5; n += 1) {
      expect((await post(at.service, path, 'json', quote, headers)).status).toBe(200);
    }
    const json = await expecting({}, () => post(at.service, path, 'json', quote, headers));
    expect([json.status, json.headers.get('retry-after'), json.body]).toEqual([
      429,
      '900',
      { error: expect.stringContaining('Wait 900 seconds,'), retry_after: 900 },
    ]);
    expect(json.headers.get('ratelimit')).toBe('"leads";r=0;t=900');
    const native = await expecting({}, () => post(at.service, path, 'urlencoded', quote, headers));
    expectRefusal(native, 'urlencoded', 429);
    expect(native.headers.get('retry-after')).toBe('900');
    expect((await post(at.service, path, 'json', { email: 'nope' }, headers)).status).toBe(400);
    clock.advance(900_000);
    expect((await post(at.service, path, 'json', quote, headers)).status).toBe(200);
  });

  test('returns 503 before it checks body and rate if submissions are not configured', async () => {
    const unconfigured = await startService({ environment: { UPSTREAM_URL: '' } });
    for (const encoding of encodings) {
      const answer = await postRaw(unconfigured, path, encoding, '{');
      expectRefusal(answer, encoding, 503);
      expect(answer.headers.get('ratelimit')).toBeNull();
    }
    await unconfigured.close();
  });

  test('returns 405 with Allow to GET, and CORS headers only to allowed origins', async () => {
    const get = await call(at.service, path, { method: 'GET' });
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST']);
    const preflight = (origin: string) =>
      call(at.service, path, {
        method: 'OPTIONS',
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'content-type',
        },
      });
    expect((await preflight('https://shop.example')).headers.get('access-control-allow-origin')).toBe(
      'https://shop.example',
    );
    expect((await preflight('https://shop.example')).headers.get('cache-control')).toBe('no-store');
    expect((await preflight('https://evil.example')).headers.get('access-control-allow-origin')).toBeNull();
    const posted = await post(at.service, path, 'json', quote, { origin: 'https://shop.example' });
    expect([posted.status, posted.headers.get('access-control-allow-origin')]).toEqual([200, 'https://shop.example']);
  });
});
