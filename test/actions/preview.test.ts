import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openPreview } from '../../src/actions/preview-token.ts';
import { call, previewAction, quote } from '../support/agent.ts';
import { testClock } from '../support/clock.ts';
import { expectEffects } from '../support/outcomes.ts';
import { freshAddress, type Service, startService, tokens } from '../support/service.ts';

const clock = testClock();
let service: Service;
beforeAll(async () => {
  service = await startService({ clock });
});
afterAll(() => service.close());

const path = '/api/agent/actions/homeowner_quote/preview';
const authorization = `Bearer ${tokens.both}`;

describe('preview (reference §5.3)', () => {
  test('returns 200 with the whole record and normalized fields, and stores and forwards nothing', async () => {
    const answer = await expectEffects(service, undefined, {}, () =>
      previewAction(service, 'homeowner_quote', {
        ...quote,
        email: ' ADA@example.com ',
        phone: '',
        unknown: { a: 1 },
      }),
    );
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      ok: true,
      preview_id: expect.stringMatching(/^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/),
      action: 'homeowner_quote',
      fields: quote,
      created_at: '2026-09-01T12:00:00.000Z',
      expires_at: '2026-09-01T12:10:00.000Z',
      confirmation_required: true,
      confirmation_statement: 'I confirm that Service may use these details for the selected action.',
      destination: 'Vetted Painters',
    });
    expect(openPreview(service.settings.previewSigningKeys, answer.body.preview_id, clock.now()).kind).toBe('open');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  test.each<[string, Record<string, unknown>, string | null]>([
    ['a wrong name', { zip: '94110', budget: 1 }, 'zip, budget'],
    ['no wrong name', { phone: '', timeline: 'soon' }, null],
    ['names of every allowed character', { 'A-z_9': 1, __proto__x: 1 }, 'A-z_9, __proto__x'],
    ['names with other characters', { 'a b': 1, ä: 1, 'a,b': 1, 'x\r\nset-cookie: a': 1, '': 1, ok: 1 }, 'ok'],
    ['a name of 100 and one of 101 characters', { ['a'.repeat(100)]: 1, ['b'.repeat(101)]: 1 }, 'a'.repeat(100)],
    [
      '21 names, and names that do not count between them',
      Object.fromEntries(
        [...Array(21).keys()].flatMap((n) => [
          [`?${n}`, 1],
          [`x${n}`, 1],
        ]),
      ),
      [...Array(20).keys()].map((n) => `x${n}`).join(', '),
    ],
  ])('names ignored fields in a header: %s', async (_name, more, header) => {
    const { status, headers, body } = await previewAction(service, 'homeowner_quote', { ...quote, ...more });
    expect([status, headers.get('ignored-fields')]).toEqual([200, header]);
    expect(body).not.toHaveProperty('ignored');
  });

  test('names an ignored __proto__, which is an ordinary name in JSON', async () => {
    const raw = JSON.stringify(quote).replace('{', '{"__proto__":{"a":1},"constructor":1,');
    const { headers } = await previewAction(service, 'homeowner_quote', undefined, { raw });
    expect(headers.get('ignored-fields')).toBe('__proto__, constructor');
  });

  test.each([
    ['homeowner_quote', quote, 'Vetted Painters'],
    ['contractor_signup', { name: 'A', email: 'a@b.co', company: 'B' }, 'Paint Match'],
    ['contact', { name: 'A', email: 'a@b.co', subject: 'S', message: 'M' }, 'Paint Match'],
    ['newsletter', { email: 'a@b.co' }, 'Paint Match'],
  ])('names the party that receives the data of %s', async (action, fields, destination) => {
    const { status, body } = await previewAction(service, action, fields);
    expect([status, body.action, body.destination, body.fields]).toEqual([200, action, destination, fields]);
  });

  test('reads the body as JSON for any content type, ignores a BOM and uses a repeated name’s last value', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'nonsense',
      'application/json; charset=UTF-8',
    ]) {
      const answer = await previewAction(service, 'newsletter', null, {
        raw: '\ufeff{"email":"x","email":"a@b.co"}',
        headers: { 'content-type': type },
      });
      expect([answer.status, answer.body.fields]).toEqual([200, { email: 'a@b.co' }]);
    }
  });
});

describe('preview, refusals (reference §5.5)', () => {
  test.each([
    'nope',
    '__proto__',
    'constructor',
    'HOMEOWNER_QUOTE',
    'homeowner_quote%00',
    '%E2%98%83',
    'a'.repeat(1_000),
  ])('returns 404 for the unknown action %j, before any other check', async (action) => {
    const answer = await previewAction(service, action, quote, { token: null });
    expect(answer.status).toBe(404);
    expect(answer.body).toEqual({ error: expect.any(String) });
    expect(answer.headers.get('ratelimit')).toBeNull();
  });

  test('returns 401 with a challenge if no credential is sent', async () => {
    const answer = await previewAction(service, 'contact', quote, { token: null });
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer\b/);
    expect(answer.headers.get('www-authenticate')).not.toMatch(/error=/);
  });

  test.each([
    'Bearer wrong',
    'Bearer',
    `Basic ${tokens.both}`,
    `Bearer ${tokens.expired}`,
    `Bearer ${tokens.both} x`,
    tokens.both,
  ])('returns 401 invalid_token for %j', async (header) => {
    const answer = await call(service, path, { headers: { authorization: header }, body: '{}' });
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer .*error="invalid_token"/);
  });

  test('accepts a rotated credential and a lower-case scheme', async () => {
    for (const header of [`Bearer ${tokens.rotated}`, `bearer ${tokens.both}`]) {
      const answer = await call(service, path, {
        headers: { authorization: header },
        body: JSON.stringify(quote),
      });
      expect(answer.status).toBe(200);
    }
  });

  test('returns 403 if the credential lacks the scope, before the body is parsed', async () => {
    const answer = await previewAction(service, 'contact', null, {
      token: tokens.create,
      raw: '{',
    });
    expect(answer.status).toBe(403);
    expect(answer.headers.get('www-authenticate')).toMatch(/error="insufficient_scope", scope="lead:preview"/);
  });

  test.each(['', '{', '[]', 'null', '"x"', '1', '{"email":}', '[1,2]', '['.repeat(100_000), '{"a":'.repeat(50_000)])(
    'returns 400 for invalid JSON %#',
    async (raw) => {
      const answer = await previewAction(service, 'newsletter', null, { raw });
      expect([answer.status, answer.body.error]).toEqual([400, expect.any(String)]);
    },
  );

  test.each([
    ['missing', {}, 'email'],
    ['blank', { email: ' ' }, 'email'],
    ['null', { email: null }, 'email'],
    ['a number', { email: 1 }, 'email'],
    ['an array', { email: ['a@b.co'] }, 'email'],
    ['not an address', { email: 'nope' }, 'email'],
    ['too long', { email: `a@${'b'.repeat(260)}.co` }, 'email'],
  ])('returns 400 if a field is %s, and names the field without its value', async (_name, fields, field) => {
    const answer = await previewAction(service, 'newsletter', fields);
    expect(answer.status).toBe(400);
    expect(answer.body.error).toContain(field);
    expect(answer.body.error).not.toMatch(/nope|bbbb/);
  });

  test.each([
    ['returns 400 for a Content-Encoding', { 'content-encoding': 'gzip' }, 400],
    ['returns 400 for an empty Content-Encoding', { 'content-encoding': '' }, 400],
    ['returns 400 for another charset', { 'content-type': 'application/json; charset=utf-16' }, 400],
    ['returns 400 for a Latin-1 charset', { 'content-type': 'application/json; charset="ISO-8859-1"' }, 400],
    ['returns 400 for a charset after a malformed type', { 'content-type': 'json; charset=latin1' }, 400],
    ['returns 400 for a charset among spaces', { 'content-type': 'application/json ; charset = latin1' }, 400],
    ['returns 400 for a second charset', { 'content-type': 'application/json; charset=utf-8; charset=latin1' }, 400],
    [
      'returns 200 for UTF-8 after a quoted charset',
      { 'content-type': 'a/b; x="; charset=latin1"; charset=utf-8' },
      200,
    ],
    ['returns 200 for an empty charset', { 'content-type': 'application/json; charset=' }, 200],
    ['returns 400 for a charset after an escaped quote', { 'content-type': 'a/b; x="\\";"; charset=latin1' }, 400],
    ['returns 200 for a parameter whose name ends in charset', { 'content-type': 'text/x; xcharset=latin1' }, 200],
    ['returns 400 for UTF-8 in single quotes', { 'content-type': "text/x; CHARSET='utf-8'" }, 400],
  ])('%s', async (_name, headers, status) => {
    expect((await previewAction(service, 'newsletter', { email: 'a@b.co' }, { headers })).status).toBe(status);
  });

  test('returns 400 for invalid UTF-8', async () => {
    const body = Buffer.concat([Buffer.from('{"email":"a@b.co","x":"'), Buffer.from([0xff]), Buffer.from('"}')]);
    expect((await call(service, path, { headers: { authorization }, body })).status).toBe(400);
  });

  test('accepts a body of 512 KiB and returns 413 for one byte more', async () => {
    const filled = (length: number) => {
      const frame = JSON.stringify({ ...quote, filler: '' });
      return frame.replace('"filler":""', `"filler":"${'x'.repeat(length - frame.length)}"`);
    };
    const ok = await call(service, path, { headers: { authorization }, body: filled(512 * 1024) });
    const over = await call(service, path, {
      headers: { authorization },
      body: filled(512 * 1024 + 1),
    });
    expect([ok.status, over.status]).toEqual([200, 413]);
  });

  test('returns 405 with Allow for a wrong method, and does not count the request in the rate limit', async () => {
    for (const method of ['GET', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'HEAD']) {
      const answer = await call(service, path, { method, headers: { authorization } });
      expect([method, answer.status, answer.headers.get('allow')]).toEqual([method, 405, 'POST']);
      expect(answer.headers.get('ratelimit')).toBeNull();
    }
  });
});

describe('preview, rate limit (reference §17.2)', () => {
  test('allows one address 60 requests a minute, then returns 429 with Retry-After', async () => {
    const headers = { 'x-forwarded-for': freshAddress() };
    for (let n = 0; n < 60; n += 1) {
      const answer = await call(service, path, { headers, body: '{}' });
      expect(answer.status).toBe(401);
      expect(answer.headers.get('ratelimit-policy')).toBe('"preview";q=60;w=60');
      expect(answer.headers.get('ratelimit')).toBe(`"preview";r=${59 - n};t=60`);
    }
    clock.advance(30_500);
    const refused = await call(service, path, {
      headers: { ...headers, authorization },
      body: JSON.stringify(quote),
    });
    expect([refused.status, refused.headers.get('retry-after'), refused.headers.get('ratelimit')]).toEqual([
      429,
      '30',
      '"preview";r=0;t=30',
    ]);
    expect(refused.body).toEqual({ error: expect.stringContaining('Wait 30 seconds,') });
    clock.advance(29_500);
    expect(
      (
        await call(service, path, {
          headers: { ...headers, authorization },
          body: JSON.stringify(quote),
        })
      ).status,
    ).toBe(200);
  });

  test('a change of the wall clock does not end the minute early', async () => {
    const headers = { 'x-forwarded-for': freshAddress(), authorization };
    for (let n = 0; n < 60; n += 1) await call(service, path, { headers, body: '{}' });
    for (const step of [3_600_000, -7_200_000, 3_600_000]) {
      clock.step(step);
      expect((await call(service, path, { headers, body: '{}' })).status).toBe(429);
    }
  });
});

describe('preview without configuration (reference §5.5)', () => {
  test.each([
    ['no upstream', { UPSTREAM_URL: '' }],
    ['no signing key', { PREVIEW_SIGNING_KEYS: '' }],
  ])('with %s, returns 503, checked after 401 and 403 and before 400', async (_name, environment) => {
    const unconfigured = await startService({ environment });
    const statuses = [
      await previewAction(unconfigured, 'nope', {}),
      await previewAction(unconfigured, 'contact', {}, { token: null }),
      await previewAction(unconfigured, 'contact', {}, { token: tokens.create }),
      await previewAction(unconfigured, 'contact', null, { raw: '{' }),
    ].map((answer) => answer.status);
    await unconfigured.close();
    expect(statuses).toEqual([404, 401, 403, 503]);
  });
});
