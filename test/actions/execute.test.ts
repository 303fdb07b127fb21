import { connect } from 'node:net';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { call, executeAction, previewAction, previewId, quote } from '../support/agent.ts';
import { testClock } from '../support/clock.ts';
import { expectEffects } from '../support/outcomes.ts';
import { freshAddress, type Service, startService, tokens } from '../support/service.ts';
import { answering, type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';

const STATEMENT = 'I confirm that Service may use these details for the selected action.';
const path = '/api/agent/actions/homeowner_quote/execute';
const clock = testClock();
let upstream: ProgrammableUpstream;
let service: Service;
beforeAll(async () => {
  upstream = await startUpstream();
  service = await startService({ clock, environment: { UPSTREAM_URL: upstream.url } });
});
afterEach(() => {
  upstream.answer = answering(200);
});
afterAll(async () => {
  await service.close();
  await upstream.close();
});

/** What a scenario adds to deliveries, execution rows and messages; unnamed is 0. */
const expecting = <T>(effects: Parameters<typeof expectEffects>[2], run: () => Promise<T>) =>
  expectEffects(service, upstream, effects, run);

const receipt = (status: 'submitted' | 'failed') => ({
  action_id: expect.stringMatching(
    /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  ),
  action: 'homeowner_quote',
  status,
  created_at: clock.now().toISOString(),
  consent_recorded_at: clock.now().toISOString(),
  confirmation_text: STATEMENT,
  result: { ok: status === 'submitted' },
});

describe('spec §4.4, §2.3: an execution', () => {
  test('200 with the receipt, and one event as contract §3 has it', async () => {
    const preview = await previewId(service);
    const answer = await expecting({ forwarded: 1, rows: 1 }, () =>
      executeAction(service, preview),
    );
    expect([answer.status, answer.body]).toEqual([
      200,
      { ok: true, receipt: receipt('submitted') },
    ]);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('idempotent-replayed')).toBeNull();
    const { event, headers } = upstream.delivered.at(-1) ?? expect.fail();
    expect(event).toEqual({
      type: 'lead.created',
      timestamp: clock.now().toISOString(),
      data: {
        id: answer.body.receipt.action_id,
        form: 'homeowner_quote',
        fields: quote,
        recipient: { id: 'c-1', name: 'Vetted Painters' },
        origin: 'agent',
        client: 'acme',
        consent_recorded_at: answer.body.receipt.consent_recorded_at,
      },
    });
    expect([headers['webhook-id'], headers['idempotency-key']]).toEqual([
      event.data.id,
      event.data.id,
    ]);
  });

  test.each([
    ['contractor_signup', { name: 'A', email: 'a@b.co', company: 'B' }, 'lead.created'],
    ['contact', { name: 'A', email: 'a@b.co', subject: 'S', message: 'M' }, 'lead.created'],
    ['newsletter', { email: 'a@b.co' }, 'subscriber.created'],
  ])('%s goes to the operator: no recipient, no message', async (action, fields, type) => {
    const preview = await previewId(service, action, fields);
    await expecting({ forwarded: 1, rows: 1 }, () => executeAction(service, preview, { action }));
    expect(upstream.delivered.at(-1)?.event).toMatchObject({
      type,
      data: { form: action, fields, recipient: null },
    });
  });

  test('409 to a newsletter is success: already on the list', async () => {
    upstream.answer = answering(409);
    const preview = await previewId(service, 'newsletter', { email: 'known@b.co' });
    const answer = await expecting({ forwarded: 1, rows: 1 }, () =>
      executeAction(service, preview, { action: 'newsletter' }),
    );
    expect([answer.status, answer.body.receipt.status]).toEqual([200, 'submitted']);
  });

  test('one client may preview and another execute; the event names the one that executed', async () => {
    const { body } = await previewAction(service, 'homeowner_quote', quote, {
      token: tokens.preview,
    });
    const answer = await expecting({ forwarded: 1, rows: 1 }, () =>
      executeAction(service, body.preview_id, { token: tokens.create }),
    );
    expect([answer.status, upstream.delivered.at(-1)?.event.data.client]).toEqual([200, 'sender']);
  });

  test('a traceparent is taken up and sent on with a span of its own', async () => {
    const preview = await previewId(service);
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await executeAction(service, preview, { headers: { traceparent } });
    expect(upstream.delivered.at(-1)?.headers.traceparent).toMatch(
      /^00-0af7651916cd43dd8448eb211c80319c-(?!b7ad6b7169203331)[0-9a-f]{16}-01$/,
    );
  });
});

describe('spec §3: replays and conflicts', () => {
  test('the same key and preview: the same receipt with replay, nothing sent, even after expiry and rotation', async () => {
    const preview = await previewId(service);
    const first = await executeAction(service, preview, { key: 'replay-1' });
    clock.advance(86_400_000);
    const again = await expecting({}, () =>
      executeAction(service, preview, { key: 'replay-1', token: tokens.rotated }),
    );
    expect([again.status, again.body]).toEqual([200, { ...first.body, replay: true }]);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
  });

  test('another key for a consumed preview: 409 preview_already_used, also from another client and after expiry', async () => {
    const preview = await previewId(service);
    await executeAction(service, preview, { key: 'used-1' });
    for (const options of [{ key: 'used-2' }, { key: 'used-1', token: tokens.other }]) {
      const answer = await expecting({}, () => executeAction(service, preview, options));
      expect([answer.status, answer.body]).toEqual([409, { error: 'preview_already_used' }]);
      clock.advance(600_000);
    }
  });

  test('a key with another preview: 409 idempotency_conflict, before the token is looked at', async () => {
    const preview = await previewId(service);
    await executeAction(service, preview, { key: 'conflict-1' });
    for (const other of [await previewId(service), 'nonsense']) {
      const answer = await expecting({}, () =>
        executeAction(service, other, { key: 'conflict-1' }),
      );
      expect([answer.status, answer.body]).toEqual([409, { error: 'idempotency_conflict' }]);
    }
  });

  test('the same key of another client is another key', async () => {
    const [one, two] = [await previewId(service), await previewId(service)];
    await executeAction(service, one, { key: 'shared' });
    const answer = await expecting({ forwarded: 1, rows: 1 }, () =>
      executeAction(service, two, { key: 'shared', token: tokens.other }),
    );
    expect(answer.status).toBe(200);
  });

  test('what is recorded under another action is 400', async () => {
    const preview = await previewId(service);
    await executeAction(service, preview, { key: 'other-action' });
    for (const key of ['other-action', 'some-other-key']) {
      expect(
        (await expecting({}, () => executeAction(service, preview, { key, action: 'contact' })))
          .status,
      ).toBe(400);
    }
  });

  test('while an execution is in progress: the same key 409 retryable, another key preview_already_used', async () => {
    const preview = await previewId(service);
    let release = () => {};
    const arrived = new Promise<void>((resolve) => {
      upstream.answer = (response) => {
        release = () => response.writeHead(200).end();
        resolve();
      };
    });
    const running = executeAction(service, preview, { key: 'progress' });
    await arrived;
    const same = await expecting({}, () => executeAction(service, preview, { key: 'progress' }));
    const other = await expecting({}, () => executeAction(service, preview, { key: 'progress-2' }));
    release();
    expect([same.status, same.body, same.headers.get('retry-after')]).toEqual([
      409,
      { error: expect.any(String), retryable: true },
      '1',
    ]);
    expect([other.status, other.body]).toEqual([409, { error: 'preview_already_used' }]);
    expect((await running).status).toBe(200);
  });

  test('50 concurrent executions with one key: one delivery, one receipt', async () => {
    const preview = await previewId(service);
    const answers = await expecting({ forwarded: 1, rows: 1 }, () =>
      Promise.all(
        Array.from({ length: 50 }, () => executeAction(service, preview, { key: 'fifty' })),
      ),
    );
    expect(answers.every(({ status }) => status === 200 || status === 409)).toBe(true);
    const final = await executeAction(service, preview, { key: 'fifty' });
    for (const { status, body } of answers) {
      if (status === 200) expect(body.receipt).toEqual(final.body.receipt);
      else expect(body.retryable).toBe(true);
    }
  });

  test('50 concurrent executions with different keys: one delivery, 49 told that the preview is used', async () => {
    const preview = await previewId(service);
    const answers = await expecting({ forwarded: 1, rows: 1 }, () =>
      Promise.all(
        Array.from({ length: 50 }, (_, n) => executeAction(service, preview, { key: `each-${n}` })),
      ),
    );
    const statuses = answers.map(({ status, body }) => `${status} ${body.error ?? ''}`).sort();
    expect(statuses).toEqual([
      '200 ',
      ...Array.from({ length: 49 }, () => '409 preview_already_used'),
    ]);
  });
});

describe('contract §3: what the upstream answered', () => {
  test.each([
    [422, 422, {}],
    [400, 400, {}],
    [409, 409, {}],
    [410, 410, {}],
    [413, 413, {}],
    [401, 502, {}],
    [403, 502, {}],
    [404, 502, {}],
    [407, 502, {}],
    [408, 502, {}],
    [302, 502, {}],
    [500, 502, {}],
    [503, 502, {}],
  ])(
    '%i answers %i with a failed receipt; its replay is 502, a new key preview_already_used',
    async (upstreamStatus, status) => {
      upstream.answer = answering(upstreamStatus, { 'x-secret': 'header', location: '/elsewhere' });
      const preview = await previewId(service);
      const key = `failed-${upstreamStatus}`;
      const answer = await expecting({ forwarded: 1, rows: 1 }, () =>
        executeAction(service, preview, { key }),
      );
      expect([answer.status, answer.body]).toEqual([
        status,
        { error: expect.any(String), receipt: receipt('failed') },
      ]);
      expect(`${answer.text}${JSON.stringify([...answer.headers])}`).not.toMatch(
        /secret|elsewhere/,
      );
      const replay = await expecting({}, () => executeAction(service, preview, { key }));
      expect([replay.status, replay.body]).toEqual([
        502,
        { error: expect.any(String), receipt: answer.body.receipt, replay: true },
      ]);
      expect(replay.headers.get('idempotent-replayed')).toBe('true');
      expect((await executeAction(service, preview, { key: `${key}-2` })).body).toEqual({
        error: 'preview_already_used',
      });
    },
  );

  test('429 is relayed with its Retry-After, and replayed as 502', async () => {
    upstream.answer = answering(429, { 'retry-after': '77' });
    const preview = await previewId(service);
    const answer = await expecting({ forwarded: 1, rows: 1 }, () =>
      executeAction(service, preview, { key: 'limited' }),
    );
    expect([answer.status, answer.headers.get('retry-after'), answer.body.receipt.status]).toEqual([
      429,
      '77',
      'failed',
    ]);
    expect(
      (await expecting({}, () => executeAction(service, preview, { key: 'limited' }))).status,
    ).toBe(502);
  });

  test('an upstream that resets the connection is 502', async () => {
    const preview = await previewId(service);
    upstream.answer = (response) => response.destroy();
    expect(
      (await expecting({ forwarded: 1, rows: 1 }, () => executeAction(service, preview))).status,
    ).toBe(502);
  });
});

describe('spec §7.1, contract §4: what execute refuses, in order, without a row or a delivery', () => {
  const none = { key: null };
  test.each([
    ['404 unknown action', 404, { action: 'nope', token: null, ...none }],
    ['401 no credential', 401, { token: null, ...none }],
    ['403 no scope', 403, { token: tokens.preview, ...none }],
    ['400 no Idempotency-Key, before the body', 400, { ...none, raw: '{' }],
    ['400 an empty Idempotency-Key', 400, { key: '' }],
    ['400 an Idempotency-Key of 201 characters', 400, { key: 'k'.repeat(201) }],
    ['400 an Idempotency-Key beyond ASCII', 400, { key: 'k\u00e9' }],
    ['400 a tab in an Idempotency-Key', 400, { key: 'a\tb' }],
    ['400 invalid JSON', 400, { raw: '{' }],
    ['400 no object', 400, { raw: '[]' }],
    [
      '400 no preview_id, before the confirmation',
      400,
      { body: { preview_id: undefined, confirmation: false } },
    ],
    ['400 preview_id no string', 400, { body: { preview_id: 1, confirmation: false } }],
    [
      '409 confirmation missing, before the token',
      409,
      { body: { preview_id: 'x', confirmation: undefined } },
    ],
    ['409 confirmation false', 409, { body: { confirmation: false } }],
    ['409 confirmation "true"', 409, { body: { confirmation: 'true' } }],
    ['409 confirmation 1', 409, { body: { confirmation: 1 } }],
    ['409 no confirmation_text', 409, { body: { confirmation_text: undefined } }],
    ['409 another confirmation_text', 409, { body: { confirmation_text: `${STATEMENT} ` } }],
    [
      '409 confirmation_text in another case',
      409,
      { body: { confirmation_text: STATEMENT.toLowerCase() } },
    ],
    ['409 confirmation_text no string', 409, { body: { confirmation_text: [STATEMENT] } }],
    ['400 a token of another shape', 400, { body: { preview_id: 'a.b.c' } }],
    ['400 an empty token', 400, { body: { preview_id: '' } }],
    ['400 a preview of another action', 400, { action: 'contact' }],
  ] as const)('%s', async (_name, status, options) => {
    const preview = await previewId(service);
    const answer = await expecting({}, () => executeAction(service, preview, options));
    expect([answer.status, answer.body.error]).toEqual([status, expect.any(String)]);
    // Nothing was consumed: the preview still executes.
    expect((await executeAction(service, preview)).status).toBe(200);
  });

  test('an Idempotency-Key of 200 printable characters is taken', async () => {
    const key = `${' !~'.trim()}${'k'.repeat(198)}`;
    expect((await executeAction(service, await previewId(service), { key })).status).toBe(200);
  });

  test('400 for an expired preview: at ten minutes, not before', async () => {
    const [early, late] = [await previewId(service), await previewId(service)];
    clock.advance(599_999);
    expect((await executeAction(service, early)).status).toBe(200);
    clock.advance(1);
    expect((await expecting({}, () => executeAction(service, late))).status).toBe(400);
  });

  test('two Idempotency-Key are 400, two Authorization are 401', async () => {
    const { port } = new URL(service.url);
    const raw = (...headers: string[]) =>
      new Promise<string>((resolve, reject) => {
        let text = '';
        const socket = connect(Number(port), '127.0.0.1');
        socket
          .on('data', (chunk) => (text += chunk))
          .on('end', () => resolve(text))
          .on('error', reject);
        socket.write(
          `POST ${path} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${freshAddress()}\r\nConnection: close\r\nContent-Length: 2\r\n${headers.map((line) => `${line}\r\n`).join('')}\r\n{}`,
        );
      });
    const authorization = `Authorization: Bearer ${tokens.both}`;
    expect(await raw(authorization, 'Idempotency-Key: a', 'Idempotency-Key: a')).toMatch(
      /^HTTP\/1.1 400 .*Idempotency-Key/s,
    );
    expect(await raw(authorization, authorization, 'Idempotency-Key: a')).toMatch(
      /^HTTP\/1.1 401 /,
    );
  });

  test('the rate: 20 in a minute for one address, then 429', async () => {
    const headers = { 'x-forwarded-for': freshAddress() };
    for (let n = 0; n < 20; n += 1)
      expect((await call(service, path, { headers })).status).toBe(401);
    const answer = await call(service, path, { headers });
    expect([
      answer.status,
      answer.headers.get('retry-after'),
      answer.headers.get('ratelimit-policy'),
    ]).toEqual([429, '60', '"execute";q=20;w=60']);
  });

  test('503 while executions are not configured, after 403 and before 400', async () => {
    const unconfigured = await startService({ environment: { UPSTREAM_URL: '' } });
    const answers = [
      await executeAction(unconfigured, 'x', { token: tokens.preview }),
      await executeAction(unconfigured, 'x', { key: null }),
    ];
    await unconfigured.close();
    expect(answers.map(({ status }) => status)).toEqual([403, 503]);
  });
});

test('arbitrary bodies, keys and previews never give a 5xx, a row or a delivery', async () => {
  await expecting({}, () =>
    fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.json(), fc.string({ unit: 'binary' })),
        fc.stringMatching(/^[!-~]{1,20}$/),
        async (raw, key) => {
          const answer = await executeAction(service, '', { raw, key });
          expect(answer.status).toBeGreaterThanOrEqual(400);
          expect(answer.status).toBeLessThan(500);
        },
      ),
      { numRuns: 200 },
    ),
  );
});
