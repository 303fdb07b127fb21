/**
 * A part that fails grants nothing (ASVS 16.5). Tests in test/limits, test/faults and test/credentials make Redis, PostgreSQL,
 * the disk and the credentials file unavailable. Here, a part fails in ways that it never should.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openPreview, sealPreview } from '../../src/actions/preview-token.ts';
import { isExpired } from '../../src/credentials/file.ts';
import type { Clock } from '../../src/platform/clock.ts';
import { completeExpiredAttempts } from '../../src/submissions/attempts.ts';
import { executeAction, previewAction, previewId, quote } from '../support/agent.ts';
import { testClock } from '../support/clock.ts';
import { encodings, post } from '../support/forms.ts';
import { countEffects } from '../support/outcomes.ts';
import { type Service, startService, tokens } from '../support/service.ts';
import { type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';

const time = testClock();
let broken: 'no' | 'throws' | 'returns NaN' = 'no';
/** Returns a clock that a test can break. Only the wall clock breaks, because the monotonic clock is a counter. */
const clock: Clock = {
  ...time,
  now: () => {
    if (broken === 'throws') throw new Error('The clock broke.');
    return broken === 'returns NaN' ? new Date(Number.NaN) : time.now();
  },
};

let service: Service;
let upstream: ProgrammableUpstream;
beforeEach(async () => {
  broken = 'no';
  upstream = await startUpstream();
  service = await startService({ clock, environment: { UPSTREAM_URL: upstream.url } });
});
afterEach(async () => {
  broken = 'no';
  await service.close();
  await upstream.close();
});

const quoted = { form: 'homeowner_quote', ...quote };
const fails = () => Promise.reject(new Error('It broke.'));
const throws = () => {
  throw new Error('It broke.');
};

/** Sends every kind of request. None may succeed or leave a trace. */
async function expectNothingGranted(preview: string, allowed: number[] = [500, 503]) {
  const before = await countEffects(service, upstream);
  const answers = [
    await previewAction(service),
    await previewAction(service, 'contact', {}, { token: tokens.expired }),
    await executeAction(service, preview, { key: 'granted' }),
    ...(await Promise.all(
      encodings.flatMap((encoding) => [
        post(service, '/api/leads', encoding, { form: 'homeowner_quote', ...quote }),
        post(service, '/api/subscribe', encoding, { email: 'a@b.co', privacy: 'on' }),
      ]),
    )),
  ];
  for (const { status, text } of answers) {
    expect(allowed).toContain(status);
    expect(text).not.toMatch(/It broke|Cannot read|Error\b|\n\s+at /);
  }
  broken = 'no';
  expect(await countEffects(service, upstream)).toEqual(before);
}

describe('failing open', () => {
  test.each([
    ['rejects', fails],
    ['throws', throws],
    ['rejects without a reason', () => Promise.reject()],
  ])('grants nothing if the rate limiter %s', async (_name, take) => {
    const preview = await previewId(service);
    service.parts.limits.take = take;
    await expectNothingGranted(preview);
  });

  test.each(['find', 'claim', 'conclude'] as const)(
    'returns 500 and delivers nothing if the store throws at %s',
    async (member) => {
      const preview = await previewId(service);
      service.parts.executions[member] = throws;
      const before = upstream.delivered.length;
      const answer = await executeAction(service, preview, { key: 'broken' });
      expect([answer.status, answer.body]).toEqual([500, { error: expect.any(String) }]);
      expect(upstream.delivered.length).toBe(before);
    },
  );

  test('sends no mail while the outbox throws, and queues it when the attempt is completed later (reference §11.1)', async () => {
    const outbox = service.parts.outbox ?? expect.fail();
    const { messageTo } = outbox;
    outbox.messageTo = throws;
    const subscription = { email: 'a@b.co', privacy: 'on' };
    const { status } = await post(service, '/api/subscribe', 'json', subscription);
    expect([status, (await countEffects(service, upstream)).mails]).toEqual([200, 0]);
    // A failing outbox does not affect a lead.
    expect((await post(service, '/api/leads', 'json', quoted)).status).toBe(200);
    outbox.messageTo = messageTo;
    await completeExpiredAttempts(service.parts.submissions);
    expect((await countEffects(service, upstream)).mails).toBe(1);
  });

  test('returns 500 for a subscription into the embedded inbox if the outbox throws', async () => {
    const embedded = await startService();
    const outbox = embedded.parts.outbox ?? expect.fail();
    outbox.messageTo = throws;
    const subscription = { email: 'a@b.co', privacy: 'on' };
    const { status } = await post(embedded, '/api/subscribe', 'json', subscription);
    const effects = await countEffects(embedded);
    await embedded.close();
    expect([status, effects]).toEqual([500, { forwarded: 0, rows: 0, mails: 0 }]);
  });

  test('returns 500 and delivers nothing if the credentials can’t be read', async () => {
    const preview = await previewId(service);
    service.parts.credentials.find = throws;
    for (const answer of [await previewAction(service), await executeAction(service, preview)]) {
      expect(answer.status).toBe(500);
    }
    expect(upstream.delivered).toEqual([]);
  });

  test.each(['throws', 'returns NaN'] as const)(
    'previews, executes and accepts nothing if the clock %s',
    async (how) => {
      const preview = await previewId(service);
      broken = how;
      // An upstream over HTTP signs the time, so a lead is 500, too.
      await expectNothingGranted(preview, [400, 401, 500, 503]);
    },
  );

  test('treats previews and credentials as expired if the time is NaN', () => {
    const key = Buffer.alloc(32, 1);
    const createdAt = time.now().getTime();
    const preview = { action: 'contact' as const, fields: {}, destination: 'x', createdAt };
    const never = new Date(Number.NaN);
    expect(openPreview([key], sealPreview([key], preview), never).kind).toBe('expired');
    const undated = { ...preview, createdAt: Number.NaN };
    expect(openPreview([key], sealPreview([key], undated), time.now()).kind).toBe('expired');
    expect(isExpired('2999-01-01T00:00:00.000Z', never)).toBe(true);
    expect(isExpired('not a time', time.now())).toBe(true);
    expect(isExpired(null, never)).toBe(false);
  });

  test('returns a 5xx and sends no mail if the call of the upstream rejects', async () => {
    const upstreamPart = service.parts.upstream ?? expect.fail();
    if (upstreamPart.embedded) expect.fail();
    upstreamPart.deliver = fails;
    const preview = await previewId(service);
    const answers = [
      await executeAction(service, preview, { key: 'upstream' }),
      await post(service, '/api/leads', 'json', { form: 'homeowner_quote', ...quote }),
      await post(service, '/api/subscribe', 'json', { email: 'a@b.co', privacy: 'on' }),
    ];
    for (const { status } of answers) expect(status).toBeGreaterThanOrEqual(500);
    expect((await countEffects(service, upstream)).mails).toBe(0);
  });

  test('returns 503 to agents without a signing key, and to every submission without an upstream', async () => {
    const preview = await previewId(service);
    const keyless = await startService({
      environment: { PREVIEW_SIGNING_KEYS: '', UPSTREAM_URL: upstream.url },
    });
    const homeless = await startService({ environment: { UPSTREAM_URL: '' } });
    for (const answer of [
      await previewAction(keyless),
      await executeAction(keyless, preview),
      await previewAction(homeless),
      await executeAction(homeless, preview),
      await post(homeless, '/api/leads', 'json', { email: 'a@b.co' }),
      await post(homeless, '/api/subscribe', 'json', { email: 'a@b.co', privacy: 'on' }),
    ]) {
      expect(answer.status).toBe(503);
    }
    await keyless.close();
    await homeless.close();
    expect(upstream.delivered).toEqual([]);
  });
});
