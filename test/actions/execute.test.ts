import { describe, expect, test } from 'vitest';
import { executeAction, previewAction, previewId, quote } from '../support/agent.ts';
import { countEffects } from '../support/outcomes.ts';
import { scenario } from '../support/scenario.ts';
import { startService, tokens } from '../support/service.ts';
import { answering } from '../support/upstream.ts';

const STATEMENT = 'I confirm that Service may use these details for the selected action.';
const at = scenario();
const { clock, expecting } = at;

const receipt = (status: 'submitted' | 'failed') => ({
  action_id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
  action: 'homeowner_quote',
  status,
  created_at: clock.now().toISOString(),
  consent_recorded_at: clock.now().toISOString(),
  confirmation_text: STATEMENT,
  result: { ok: status === 'submitted' },
});

describe('execute (reference §5.6, §5.9)', () => {
  test('returns 200 with the receipt and sends one event in the format of reference §10.2', async () => {
    const preview = await previewId(at.service);
    const answer = await expecting({ forwarded: 1, rows: 1 }, () => executeAction(at.service, preview));
    expect([answer.status, answer.body]).toEqual([200, { ok: true, receipt: receipt('submitted') }]);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('idempotent-replayed')).toBeNull();
    const { event, headers } = at.upstream.delivered.at(-1) ?? expect.fail();
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
    expect([headers['webhook-id'], headers['idempotency-key']]).toEqual([event.data.id, event.data.id]);
  });

  test.each([
    ['contractor_signup', { name: 'A', email: 'a@b.co', company: 'B' }, 'lead.created'],
    ['contact', { name: 'A', email: 'a@b.co', subject: 'S', message: 'M' }, 'lead.created'],
    ['newsletter', { email: 'a@b.co' }, 'subscriber.created'],
  ])('forwards %s to the upstream without a recipient, and sends no e-mail', async (action, fields, type) => {
    const preview = await previewId(at.service, action, fields);
    await expecting({ forwarded: 1, rows: 1 }, () => executeAction(at.service, preview, { action }));
    expect(at.upstream.delivered.at(-1)?.event).toMatchObject({
      type,
      data: { form: action, fields, recipient: null },
    });
  });

  test('returns 200 if the upstream answers 409 to a newsletter, because the address is already subscribed', async () => {
    at.upstream.answer = answering(409);
    const preview = await previewId(at.service, 'newsletter', { email: 'known@b.co' });
    const answer = await expecting({ forwarded: 1, rows: 1 }, () =>
      executeAction(at.service, preview, { action: 'newsletter' }),
    );
    expect([answer.status, answer.body.receipt.status]).toEqual([200, 'submitted']);
  });

  test('the event names the client that executes, not the client that made the preview', async () => {
    const { body } = await previewAction(at.service, 'homeowner_quote', quote, {
      token: tokens.preview,
    });
    const answer = await expecting({ forwarded: 1, rows: 1 }, () =>
      executeAction(at.service, body.preview_id, { token: tokens.create }),
    );
    expect([answer.status, at.upstream.delivered.at(-1)?.event.data.client]).toEqual([200, 'sender']);
  });

  test('forwards a traceparent with the same trace id and a new span id', async () => {
    const preview = await previewId(at.service);
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await executeAction(at.service, preview, { headers: { traceparent } });
    expect(at.upstream.delivered.at(-1)?.headers.traceparent).toMatch(
      /^00-0af7651916cd43dd8448eb211c80319c-(?!b7ad6b7169203331)[0-9a-f]{16}-01$/,
    );
  });
});

describe('execute, log and metrics', () => {
  test.each([
    [200, 'submitted', { kind: 'confirmed', known: false, status: 200 }],
    [422, 'failed', { kind: 'rejected', status: 422 }],
  ] as const)(
    'logs one line with its ids and counts once if the upstream answers %i',
    async (status, became, outcome) => {
      const { metrics } = at.service.parts;
      const { countExecution } = metrics;
      const counted: unknown[][] = [];
      metrics.countExecution = (...labels) => void counted.push(labels);
      at.upstream.answer = answering(status);
      const preview = await previewId(at.service);
      const { body } = await executeAction(at.service, preview, { key: `seen-${status}` });
      await executeAction(at.service, preview, { key: `seen-${status}` });
      metrics.countExecution = countExecution;
      expect(counted).toEqual([['homeowner_quote', became]]);
      const { action_id: actionId } = body.receipt;
      const lines = at.service.logs.map((line) => JSON.parse(line));
      expect(lines.filter((line) => line.actionId === actionId)).toEqual([
        {
          level: 'info',
          time: expect.any(String),
          actionId,
          action: 'homeowner_quote',
          client: 'acme',
          status: became,
          outcome,
          msg: 'execution settled',
        },
      ]);
    },
  );
});

describe('execute with the embedded inbox (reference §10.8)', () => {
  test('stores one event and one receipt, and none for a replay', async () => {
    const service = await startService({ clock });
    const preview = await previewId(service);
    const first = await executeAction(service, preview, { key: 'embedded' });
    const again = await executeAction(service, preview, { key: 'embedded' });
    const effects = await countEffects(service);
    await service.close();
    expect([first.status, first.body.receipt]).toEqual([200, receipt('submitted')]);
    expect(again.body).toEqual({ ...first.body, replay: true });
    expect(effects).toEqual({ forwarded: 1, rows: 1, mails: 0 });
  });
});

describe('execute, replays and conflicts (reference §5.8)', () => {
  test('replays the receipt for the same key and preview and sends nothing, even after expiry and rotation', async () => {
    const preview = await previewId(at.service);
    const first = await executeAction(at.service, preview, { key: 'replay-1' });
    clock.advance(86_400_000);
    const again = await expecting({}, () =>
      executeAction(at.service, preview, { key: 'replay-1', token: tokens.rotated }),
    );
    expect([again.status, again.body]).toEqual([200, { ...first.body, replay: true }]);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
  });

  test('returns 409 preview_already_used for another key or client with a consumed preview, also after expiry', async () => {
    const preview = await previewId(at.service);
    await executeAction(at.service, preview, { key: 'used-1' });
    for (const options of [{ key: 'used-2' }, { key: 'used-1', token: tokens.other }]) {
      const answer = await expecting({}, () => executeAction(at.service, preview, options));
      expect([answer.status, answer.body]).toEqual([409, { error: 'preview_already_used' }]);
      clock.advance(600_000);
    }
  });

  test('returns 409 idempotency_conflict for a key used with another preview, before the token is checked', async () => {
    const preview = await previewId(at.service);
    await executeAction(at.service, preview, { key: 'conflict-1' });
    const conflict = [409, { error: 'idempotency_conflict' }];
    for (const other of [await previewId(at.service), 'nonsense']) {
      const answer = await expecting({}, () => executeAction(at.service, other, { key: 'conflict-1' }));
      expect([answer.status, answer.body]).toEqual(conflict);
    }
    // The conflict does not depend on the other preview’s action (reference §5.8). This preview matches its path.
    const { body } = await previewAction(at.service, 'newsletter', { email: 'a@b.co' });
    const answer = await expecting({}, () =>
      executeAction(at.service, body.preview_id, { key: 'conflict-1', action: 'newsletter' }),
    );
    expect([answer.status, answer.body]).toEqual(conflict);
  });

  test('treats the same key of another client as another key', async () => {
    const [one, two] = [await previewId(at.service), await previewId(at.service)];
    await executeAction(at.service, one, { key: 'shared' });
    const answer = await expecting({ forwarded: 1, rows: 1 }, () =>
      executeAction(at.service, two, { key: 'shared', token: tokens.other }),
    );
    expect(answer.status).toBe(200);
  });

  test('returns 400 if the preview was executed under another action', async () => {
    const preview = await previewId(at.service);
    await executeAction(at.service, preview, { key: 'other-action' });
    for (const key of ['other-action', 'some-other-key']) {
      expect((await expecting({}, () => executeAction(at.service, preview, { key, action: 'contact' }))).status).toBe(
        400,
      );
    }
  });

  test('during an execution, returns 409 retryable for its key and 409 preview_already_used for another key', async () => {
    const preview = await previewId(at.service);
    let release = () => {};
    const arrived = new Promise<void>((resolve) => {
      at.upstream.answer = (response) => {
        release = () => response.writeHead(200).end();
        resolve();
      };
    });
    const running = executeAction(at.service, preview, { key: 'progress' });
    await arrived;
    const same = await expecting({}, () => executeAction(at.service, preview, { key: 'progress' }));
    const other = await expecting({}, () => executeAction(at.service, preview, { key: 'progress-2' }));
    release();
    expect([same.status, same.body, same.headers.get('retry-after')]).toEqual([
      409,
      { error: expect.stringContaining('Wait 1 second,'), retryable: true },
      '1',
    ]);
    expect([other.status, other.body]).toEqual([409, { error: 'preview_already_used' }]);
    expect((await running).status).toBe(200);
  });

  test('delivers once and returns one receipt for 50 concurrent executions with one key', async () => {
    const preview = await previewId(at.service);
    const answers = await expecting({ forwarded: 1, rows: 1 }, () =>
      Promise.all(Array.from({ length: 50 }, () => executeAction(at.service, preview, { key: 'fifty' }))),
    );
    expect(answers.every(({ status }) => status === 200 || status === 409)).toBe(true);
    const final = await executeAction(at.service, preview, { key: 'fifty' });
    for (const { status, body } of answers) {
      if (status === 200) expect(body.receipt).toEqual(final.body.receipt);
      else expect(body.retryable).toBe(true);
    }
  });

  test('delivers once and returns 49 preview_already_used for 50 concurrent executions with different keys', async () => {
    const preview = await previewId(at.service);
    const answers = await expecting({ forwarded: 1, rows: 1 }, () =>
      Promise.all(Array.from({ length: 50 }, (_, n) => executeAction(at.service, preview, { key: `each-${n}` }))),
    );
    const statuses = answers.map(({ status, body }) => `${status} ${body.error ?? ''}`).sort();
    expect(statuses).toEqual(['200 ', ...Array.from({ length: 49 }, () => '409 preview_already_used')]);
  });
});

describe('execute, answers of the upstream (reference §5.9)', () => {
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
    'maps upstream %i to %i with a failed receipt, replays it as 502 and refuses a new key',
    async (upstreamStatus, status) => {
      at.upstream.answer = answering(upstreamStatus, {
        'x-secret': 'header',
        location: '/elsewhere',
      });
      const preview = await previewId(at.service);
      const key = `failed-${upstreamStatus}`;
      const answer = await expecting({ forwarded: 1, rows: 1 }, () => executeAction(at.service, preview, { key }));
      expect([answer.status, answer.body]).toEqual([status, { error: expect.any(String), receipt: receipt('failed') }]);
      expect(`${answer.text}${JSON.stringify([...answer.headers])}`).not.toMatch(/secret|elsewhere/);
      const replay = await expecting({}, () => executeAction(at.service, preview, { key }));
      expect([replay.status, replay.body]).toEqual([
        502,
        { error: expect.any(String), receipt: answer.body.receipt, replay: true },
      ]);
      expect(replay.headers.get('idempotent-replayed')).toBe('true');
      expect((await executeAction(at.service, preview, { key: `${key}-2` })).body).toEqual({
        error: 'preview_already_used',
      });
    },
  );

  test('returns 429 with the Retry-After of the upstream, and 502 on a replay', async () => {
    at.upstream.answer = answering(429, { 'retry-after': '77' });
    const preview = await previewId(at.service);
    const answer = await expecting({ forwarded: 1, rows: 1 }, () =>
      executeAction(at.service, preview, { key: 'limited' }),
    );
    expect([answer.status, answer.headers.get('retry-after'), answer.body.receipt.status]).toEqual([
      429,
      '77',
      'failed',
    ]);
    expect(answer.body.error).toContain('Wait 77 seconds.');
    expect((await expecting({}, () => executeAction(at.service, preview, { key: 'limited' }))).status).toBe(502);
  });

  test('returns 502 if the upstream resets the connection', async () => {
    const preview = await previewId(at.service);
    at.upstream.answer = (response) => response.destroy();
    expect((await expecting({ forwarded: 1, rows: 1 }, () => executeAction(at.service, preview))).status).toBe(502);
  });
});
