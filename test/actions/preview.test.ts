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

describe('spec §4.3, §2.2: a preview', () => {
  test('200 with the whole record, normalized fields, and nothing stored or forwarded', async () => {
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
      confirmation_statement:
        'I confirm that Service may use these details for the selected action.',
      destination: 'Vetted Painters',
    });
    expect(
      openPreview(service.settings.previewSigningKeys, answer.body.preview_id, clock.now()).kind,
    ).toBe('open');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  test.each([
    ['homeowner_quote', quote, 'Vetted Painters'],
    ['contractor_signup', { name: 'A', email: 'a@b.co', company: 'B' }, 'Paint Match'],
    ['contact', { name: 'A', email: 'a@b.co', subject: 'S', message: 'M' }, 'Paint Match'],
    ['newsletter', { email: 'a@b.co' }, 'Paint Match'],
  ])('%s names the party that will receive the data', async (action, fields, destination) => {
    const { status, body } = await previewAction(service, action, fields);
    expect([status, body.action, body.destination, body.fields]).toEqual([
      200,
      action,
      destination,
      fields,
    ]);
  });

  test('the body is JSON whatever its content type says; a BOM is ignored, the last of a repeated name counts', async () => {
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

describe('spec §7.1: what preview refuses', () => {
  test.each([
    'nope',
    '__proto__',
    'constructor',
    'HOMEOWNER_QUOTE',
    'homeowner_quote%00',
    '%E2%98%83',
    'a'.repeat(1_000),
  ])('404 unknown action %j, before anything else', async (action) => {
    const answer = await previewAction(service, action, quote, { token: null });
    expect(answer.status).toBe(404);
    expect(answer.body).toEqual({ error: expect.any(String) });
    expect(answer.headers.get('ratelimit')).toBeNull();
  });

  test('401 with the challenge where no credential was sent', async () => {
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
  ])('401 invalid_token for %j', async (header) => {
    const answer = await call(service, path, { headers: { authorization: header }, body: '{}' });
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer .*error="invalid_token"/);
  });

  test('a rotated credential and a lower-case scheme are valid', async () => {
    for (const header of [`Bearer ${tokens.rotated}`, `bearer ${tokens.both}`]) {
      const answer = await call(service, path, {
        headers: { authorization: header },
        body: JSON.stringify(quote),
      });
      expect(answer.status).toBe(200);
    }
  });

  test('403 without the scope, before the body is looked at', async () => {
    const answer = await previewAction(service, 'contact', null, {
      token: tokens.create,
      raw: '{',
    });
    expect(answer.status).toBe(403);
    expect(answer.headers.get('www-authenticate')).toMatch(
      /error="insufficient_scope", scope="lead:preview"/,
    );
  });

  test.each([
    '',
    '{',
    '[]',
    'null',
    '"x"',
    '1',
    '{"email":}',
    '[1,2]',
    '['.repeat(100_000),
    '{"a":'.repeat(50_000),
  ])('400 invalid JSON %#', async (raw) => {
    const answer = await previewAction(service, 'newsletter', null, { raw });
    expect([answer.status, answer.body.error]).toEqual([400, expect.any(String)]);
  });

  test.each([
    ['missing', {}, 'email'],
    ['blank', { email: ' ' }, 'email'],
    ['null', { email: null }, 'email'],
    ['a number', { email: 1 }, 'email'],
    ['an array', { email: ['a@b.co'] }, 'email'],
    ['no address', { email: 'nope' }, 'email'],
    ['too long', { email: `a@${'b'.repeat(260)}.co` }, 'email'],
  ])('400 where a field is %s, naming it and not repeating it', async (_name, fields, field) => {
    const answer = await previewAction(service, 'newsletter', fields);
    expect(answer.status).toBe(400);
    expect(answer.body.error).toContain(field);
    expect(answer.body.error).not.toMatch(/nope|bbbb/);
  });

  test.each([
    ['a Content-Encoding', { 'content-encoding': 'gzip' }, 400],
    ['a Content-Encoding of nothing', { 'content-encoding': '' }, 400],
    ['another charset', { 'content-type': 'application/json; charset=utf-16' }, 400],
    ['a Latin-1 charset', { 'content-type': 'application/json; charset="ISO-8859-1"' }, 400],
    ['one behind no type', { 'content-type': 'json; charset=latin1' }, 400],
    ['one among spaces', { 'content-type': 'application/json ; charset = latin1' }, 400],
    ['a second one', { 'content-type': 'application/json; charset=utf-8; charset=latin1' }, 400],
    [
      'UTF-8 beside quoted words',
      { 'content-type': 'a/b; x="; charset=latin1"; charset=utf-8' },
      200,
    ],
    ['an empty one', { 'content-type': 'application/json; charset=' }, 200],
    [
      'one with an escaped quote before it',
      { 'content-type': 'a/b; x="\\";"; charset=latin1' },
      400,
    ],
    ['none, but a word like it', { 'content-type': 'text/x; xcharset=latin1' }, 200],
    ['UTF-8 in quotes', { 'content-type': "text/x; CHARSET='utf-8'" }, 400],
  ])('for %s', async (_name, headers, status) => {
    expect(
      (await previewAction(service, 'newsletter', { email: 'a@b.co' }, { headers })).status,
    ).toBe(status);
  });

  test('400 for invalid UTF-8', async () => {
    const body = Buffer.concat([
      Buffer.from('{"email":"a@b.co","x":"'),
      Buffer.from([0xff]),
      Buffer.from('"}'),
    ]);
    expect((await call(service, path, { headers: { authorization }, body })).status).toBe(400);
  });

  test('a body of 512 KiB is read, one byte more is 413', async () => {
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

  test('405 with Allow for another method, not counted', async () => {
    for (const method of ['GET', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'HEAD']) {
      const answer = await call(service, path, { method, headers: { authorization } });
      expect([method, answer.status, answer.headers.get('allow')]).toEqual([method, 405, 'POST']);
      expect(answer.headers.get('ratelimit')).toBeNull();
    }
  });
});

describe('spec §8: the preview rate', () => {
  test('60 in a minute for one address, whoever calls; the 61st is 429 with Retry-After', async () => {
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
    expect([
      refused.status,
      refused.headers.get('retry-after'),
      refused.headers.get('ratelimit'),
    ]).toEqual([429, '30', '"preview";r=0;t=30']);
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

  test('a step of the wall clock moves no limit', async () => {
    const headers = { 'x-forwarded-for': freshAddress(), authorization };
    for (let n = 0; n < 60; n += 1) await call(service, path, { headers, body: '{}' });
    for (const step of [3_600_000, -7_200_000, 3_600_000]) {
      clock.step(step);
      expect((await call(service, path, { headers, body: '{}' })).status).toBe(429);
    }
  });
});

describe('contract §4: 503 where previews or executions are not configured', () => {
  test.each([
    ['no upstream', { UPSTREAM_URL: '' }],
    ['no signing key', { PREVIEW_SIGNING_KEYS: '' }],
  ])('with %s: after 401 and 403, before 400', async (_name, environment) => {
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
