/** Input never decides what the service decides, whatever the names of its members (ASVS 15.3.3 to 15.3.7). */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { forms } from '../../src/forms/catalog.ts';
import { validate } from '../../src/forms/validate.ts';
import { call, executeAction, previewAction, quote } from '../support/agent.ts';
import { codePoint } from '../support/code-point.ts';
import { encodings, post, postRaw } from '../support/forms.ts';
import { startProcess } from '../support/process.ts';
import { scenario } from '../support/scenario.ts';
import { tokens } from '../support/service.ts';

const at = scenario();

/** Values that the service decides, under every name that it or a framework uses for them. */
const ours = {
  recipient: { id: 'evil', name: 'Evil Painters' },
  destination: 'Evil Painters',
  action_id: '00000000-0000-4000-8000-000000000000',
  action: 'newsletter',
  id: 'evil',
  client: 'evil',
  origin: 'agent',
  status: 'submitted',
  type: 'subscriber.created',
  timestamp: '2000-01-01T00:00:00.000Z',
  created_at: '2000-01-01T00:00:00.000Z',
  expires_at: '2999-01-01T00:00:00.000Z',
  consent_recorded_at: '2000-01-01T00:00:00.000Z',
  confirmation_statement: 'evil',
  preview_id: 'evil',
  receipt: { status: 'submitted' },
  scopes: ['lead:create'],
  fields: { email: 'evil@example.com' },
  ok: false,
};
const asText = Object.fromEntries(
  Object.entries(ours)
    .filter(([name]) => name !== 'preview_id')
    .slice(0, 14)
    .map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
);

/** Returns the last event without its id, which differs for each submission. */
const decided = () => {
  const { event } = at.upstream.delivered.at(-1) ?? expect.fail();
  const { id, ...data } = event.data;
  expect(id).toMatch(/^[0-9a-f]{8}-/);
  return { type: event.type, timestamp: event.timestamp, data };
};

describe('mass assignment', () => {
  test('preview and execute ignore recipient, destination, ids, times and client in a body', async () => {
    const execute = async (fields: object, body: Record<string, unknown>) => {
      const { body: preview } = await previewAction(at.service, 'homeowner_quote', fields);
      const { preview_id: token, ...record } = preview;
      const executed = await executeAction(at.service, token, { body });
      expect(executed.status).toBe(200);
      const { action_id: actionId, ...receipt } = executed.body.receipt;
      expect(actionId).toBe(at.upstream.delivered.at(-1)?.event.data.id);
      return { record, receipt, event: decided() };
    };
    const plain = await execute(quote, {});
    const { preview_id: _, ...others } = ours;
    expect(await execute({ ...ours, ...quote }, others)).toEqual(plain);
    expect(plain.event.data).toMatchObject({
      recipient: { id: 'c-1', name: 'Vetted Painters' },
      client: 'acme',
    });
  });

  test.each(encodings)(
    '/api/leads and /api/subscribe ignore recipient, ids, times and client in a body in %s',
    async (encoding) => {
      for (const [path, fields] of [
        ['/api/leads', { form: 'homeowner_quote', ...quote }],
        ['/api/subscribe', { email: 'reader@example.com', privacy: 'on' }],
      ] as const) {
        await post(at.service, path, encoding, fields);
        const plain = decided();
        await at.expecting({ forwarded: 1 }, () => post(at.service, path, encoding, { ...asText, ...fields }));
        // The events of a subscriber have increasing times, independently of the clock.
        expect({ ...decided(), timestamp: plain.timestamp }).toEqual(plain);
      }
    },
  );

  test('preview ignores members with arbitrary names', async () => {
    const names = ['name', 'email', 'postal_code', 'phone', 'project_type', 'timeline', 'message'];
    const invented = fc.oneof(
      fc.constantFrom(...Object.keys(ours), '__proto__', 'constructor', 'prototype', 'toString'),
      fc.constantFrom('Email', 'EMAIL', 'email ', ' email', 'email[]', 'email.x', 'email\u0000', 'ｅmail'),
      fc.string({ unit: codePoint, maxLength: 20 }),
    );
    const extras = fc.dictionary(
      invented.filter((name) => !names.includes(name)),
      fc.jsonValue(),
    );
    await fc.assert(
      fc.asyncProperty(extras, async (extra) => {
        const raw = `${JSON.stringify({ ...extra }).slice(0, -1)}${Object.keys(extra).length > 0 ? ',' : ''}${JSON.stringify(quote).slice(1)}`;
        const { status, body } = await previewAction(at.service, 'homeowner_quote', null, { raw });
        expect([status, body?.fields]).toEqual([200, quote]);
        expect(Object.keys(body)).toHaveLength(9);
      }),
      { numRuns: 300 },
    );
  });
});

describe('parameter pollution', () => {
  test('form and agent routes ignore fields in the query string', async () => {
    const query = '?email=evil%40example.com&form=newsletter&preview_id=evil&confirmation=true';
    const previewed = await call(at.service, `/api/agent/actions/homeowner_quote/preview${query}`, {
      headers: { authorization: `Bearer ${tokens.both}` },
      body: JSON.stringify(quote),
    });
    expect(previewed.body.fields).toEqual(quote);
    const fields = { form: 'homeowner_quote', ...quote };
    await post(at.service, `/api/leads${query}`, 'urlencoded', fields);
    expect(decided().data).toMatchObject({ form: 'homeowner_quote', fields: quote });
    const alone = await at.expecting({}, () => post(at.service, `/api/leads${query}`, 'json', {}));
    expect(alone.status).toBe(400);
  });

  test('returns 401 for a credential in the query string or the body', async () => {
    const path = `/api/agent/actions/contact/preview?access_token=${tokens.both}&authorization=Bearer`;
    const body = JSON.stringify({ access_token: tokens.both, authorization: tokens.both });
    expect((await call(at.service, path, { body })).status).toBe(401);
  });

  test('does not read email[], email.x, Email or a repeated email as the field email', async () => {
    const bodies = [
      'email[]=evil%40example.com',
      'email.x=evil%40example.com',
      'email=evil%40example.com&email=',
      'email%00=evil%40example.com',
      'Email=evil%40example.com',
    ];
    for (const body of bodies) {
      const answer = await at.expecting({}, () => postRaw(at.service, '/api/leads', 'urlencoded', body));
      expect([body, answer.status]).toEqual([body, 400]);
    }
  });
});

describe('prototype pollution', () => {
  const polluted = [
    '{"__proto__":{"polluted":"yes","email":"a@b.co","confirmation":true},',
    '{"constructor":{"prototype":{"polluted":"yes"}},',
    '{"__proto__":null,"constructor":null,"hasOwnProperty":null,"toString":null,',
    '{"__proto__.polluted":"yes","constructor.prototype.polluted":"yes",',
  ];

  test.each(polluted)('Object.prototype is unchanged after a body with %s', async (start) => {
    const before = Reflect.ownKeys(Object.prototype);
    const raw = `${start}${JSON.stringify(quote).slice(1)}`;
    const answer = await previewAction(at.service, 'homeowner_quote', null, { raw });
    expect([answer.status, answer.body.fields]).toEqual([200, quote]);
    await postRaw(at.service, '/api/leads', 'json', raw);
    await postRaw(at.service, '/api/subscribe', 'json', raw);
    const names = 'email=a%40b.co&__proto__=x&__proto__%5Bpolluted%5D=yes&constructor.prototype.p=1';
    await postRaw(at.service, '/api/leads', 'urlencoded', names);
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
    expect(Reflect.ownKeys(Object.prototype)).toEqual(before);
  });

  test('validation and execute read no field and no confirmation from a prototype', async () => {
    const inherited = await previewAction(at.service, 'newsletter', null, {
      raw: '{"__proto__":{"email":"a@b.co"}}',
    });
    expect(inherited.status).toBe(400);
    const onPrototype = Object.create({ email: 'a@b.co' });
    expect(validate(forms.newsletter, onPrototype).kind).toBe('invalid');
    const raw = '{"__proto__":{"preview_id":"a.b","confirmation":true}}';
    expect((await executeAction(at.service, '', { raw })).status).toBe(400);
  });

  test('previews, executes and accepts forms in a process with --disable-proto=delete', async () => {
    const service = await startProcess({ environment: { NODE_OPTIONS: '--disable-proto=delete' } });
    const { body } = await previewAction(service, 'homeowner_quote', quote);
    expect((await executeAction(service, body.preview_id)).status).toBe(200);
    const lead = { form: 'homeowner_quote', ...quote };
    for (const encoding of encodings) {
      expect((await post(service, '/api/leads', encoding, lead)).status).toBeLessThan(400);
      const subscriber = { email: `${encoding}@example.com`, privacy: 'on' };
      expect((await post(service, '/api/subscribe', encoding, subscriber)).status).toBeLessThan(400);
    }
    expect((await call(service, '/openapi.json', { method: 'GET' })).status).toBe(200);
    expect((await call(service, '/quote', { method: 'GET' })).status).toBe(200);
  });
});
