import { describe, expect, test } from 'vitest';
import { completeExpiredAttempts } from '../../src/submissions/attempts.ts';
import { call } from '../support/agent.ts';
import { encode, encodings, multipart, natives, post, postRaw } from '../support/forms.ts';
import { scenario } from '../support/scenario.ts';
import { freshAddress, startService } from '../support/service.ts';
import { answering } from '../support/upstream.ts';

const path = '/api/subscribe';
/** 128 random bits. */
const LEAVE = /^http:\/\/127\.0\.0\.1:\d+\/newsletter\/leave\/[\w-]{22}$/;
const at = scenario();
const { clock, expecting } = at;

let subscribers = 0;
const subscriber = () => `reader-${++subscribers}@example.com`;

describe('POST /api/subscribe (reference §4.5, §2.8)', () => {
  test.each(encodings)(
    '%s: forwards once, queues one message, then returns 200 or 303 to /thank-you',
    async (encoding) => {
      const email = subscriber();
      const answer = await expecting({ forwarded: 1, mails: 1 }, () =>
        post(at.service, path, encoding, {
          email: ` ${email.toUpperCase()} `,
          privacy: 'yes',
          contractor: 'Smith-Painting',
          extra: 'x',
        }),
      );
      if (encoding === 'json') expect([answer.status, answer.body]).toEqual([200, { ok: true }]);
      else expect([answer.status, answer.headers.get('location')]).toEqual([303, '/thank-you']);
      expect(at.upstream.delivered.at(-1)?.event).toEqual({
        type: 'subscriber.created',
        timestamp: clock.now().toISOString(),
        data: {
          id: expect.any(String),
          form: 'newsletter',
          fields: { email, contractor: 'smith-painting' },
          recipient: null,
          origin: 'browser',
          client: null,
          consent_recorded_at: clock.now().toISOString(),
          status: 'pending',
          unsubscribe_url: expect.stringMatching(LEAVE),
        },
      });
    },
  );

  test.each(['on', 'true', 'yes', '1', ' yes '])('accepts %j as consent', async (privacy) => {
    expect(
      (
        await expecting({ forwarded: 1, mails: 1 }, () =>
          post(at.service, path, 'json', { email: subscriber(), privacy }),
        )
      ).status,
    ).toBe(200);
  });

  test.each(['', 'no', 'ON', 'True', 'YES', '0', 'yes please'])(
    'returns 400 naming privacy for %j as consent',
    async (privacy) => {
      for (const encoding of encodings) {
        const answer = await expecting({}, () => post(at.service, path, encoding, { email: subscriber(), privacy }));
        expect(answer.status).toBe(400);
        if (encoding === 'json') expect(answer.body).toEqual({ error: expect.any(String), fields: ['privacy'] });
      }
    },
  );

  test.each([
    ['acme', 'acme'],
    ['ACME-2', 'acme-2'],
    [' acme ', 'acme'],
    [undefined, 'direct'],
    ['', 'direct'],
    ['-acme', 'direct'],
    ['acme-', 'direct'],
    ['a--b', 'direct'],
    ['a b', 'direct'],
    ['<script>', 'direct'],
    ['ümlaut', 'direct'],
    ['\u212ailn', 'direct'],
    ['a'.repeat(100), 'a'.repeat(100)],
    ['a'.repeat(101), 'direct'],
  ])('forwards the originating site %j as %s', async (contractor, kept) => {
    await post(at.service, path, 'json', {
      email: subscriber(),
      privacy: 'on',
      ...(contractor === undefined ? {} : { contractor }),
    });
    expect(at.upstream.delivered.at(-1)?.event.data.fields).toMatchObject({ contractor: kept });
  });

  test('returns the answer of a new address if the upstream answers 409 (known), and queues no message', async () => {
    const email = subscriber();
    const fresh = await post(at.service, path, 'json', { email, privacy: 'on' });
    at.upstream.answer = answering(409);
    const known = await expecting({ forwarded: 1 }, () =>
      post(at.service, path, 'json', { email: subscriber(), privacy: 'on' }),
    );
    const visible = (answer: typeof fresh) => [answer.status, answer.text, [...answer.headers.keys()].sort()];
    expect(visible(known)).toEqual(visible(fresh));
  });

  test('queues one message per mailbox in 24 hours, even if the second address has a plus-tag', async () => {
    const email = subscriber();
    await post(at.service, path, 'json', { email, privacy: 'on' });
    await expecting({ forwarded: 1 }, () =>
      post(at.service, path, 'json', { email: email.replace('@', '+tag@'), privacy: 'on' }),
    );
  });
});

describe('log of a subscription', () => {
  /** Returns the log lines about the last submission. */
  const linesOfLast = () => {
    const id = at.upstream.delivered.at(-1)?.event.data.id;
    const lines = at.service.logs.map((line) => JSON.parse(line));
    return lines.filter(({ submissionId }) => submissionId === id);
  };

  test.each([
    [200, { kind: 'confirmed', known: false, status: 200 }],
    [409, { kind: 'confirmed', known: true, status: 409 }],
    [422, { kind: 'rejected', status: 422 }],
  ])('logs one line with the id and the outcome if the upstream answers %i', async (status, outcome) => {
    at.upstream.answer = answering(status);
    await post(at.service, path, 'json', { email: subscriber(), privacy: 'on' });
    expect(linesOfLast()).toEqual([
      expect.objectContaining({ msg: 'subscription settled', form: 'newsletter', outcome }),
    ]);
  });

  test('logs an error with the id, and queues the message later, if queueing fails at first (reference §10.6)', async () => {
    const outbox = at.service.parts.outbox ?? expect.fail();
    const { messageTo } = outbox;
    outbox.messageTo = () => {
      throw new Error('It broke.');
    };
    const answer = await expecting({ forwarded: 1 }, () =>
      post(at.service, path, 'json', { email: subscriber(), privacy: 'on' }),
    );
    outbox.messageTo = messageTo;
    expect(answer.status).toBe(200);
    expect(linesOfLast()).toEqual([
      expect.objectContaining({
        level: 'error',
        msg: 'attempt outcome not stored yet',
        err: expect.objectContaining({ message: 'It broke.' }),
      }),
      expect.objectContaining({ msg: 'subscription settled' }),
    ]);
    await expecting({ mails: 1 }, () => completeExpiredAttempts(at.service.parts.submissions));
  });
});

describe('POST /api/subscribe, ignored values (reference §4.5)', () => {
  test('ignores JSON values that are not strings', async () => {
    const body = JSON.stringify({
      email: subscriber(),
      privacy: 'on',
      x: 1,
      y: { z: null },
      contractor: ['a'],
      'bot-field': null,
    });
    await expecting({ forwarded: 1, mails: 1 }, () => postRaw(at.service, path, 'json', body));
    expect(at.upstream.delivered.at(-1)?.event.data.fields).toMatchObject({ contractor: 'direct' });
  });

  test('ignores a file part, even if its bytes are not UTF-8', async () => {
    const file = [
      'f',
      Buffer.from([0xff, 0x00, 0xfe]),
      'Content-Disposition: form-data; name="f"; filename="a.bin"\r\nContent-Type: application/octet-stream',
    ] as const;
    const body = multipart([['email', subscriber()], file, ['privacy', 'on']]);
    expect(
      (await expecting({ forwarded: 1, mails: 1 }, () => postRaw(at.service, path, 'multipart', body))).status,
    ).toBe(303);
  });

  test('returns 400 for consent that is not a string', async () => {
    const answer = await expecting({}, () =>
      postRaw(at.service, path, 'json', JSON.stringify({ email: subscriber(), privacy: true })),
    );
    expect([answer.status, answer.body.fields]).toEqual([400, ['privacy']]);
  });

  test('accepts 30 unknown fields, and an unknown field of 3,000 characters', async () => {
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`f${n}`, 'x'.repeat(100)]));
    expect(
      (
        await post(at.service, path, 'json', {
          email: subscriber(),
          privacy: 'on',
          long: 'x'.repeat(3_000),
          ...many,
        })
      ).status,
    ).toBe(200);
  });
});

describe('POST /api/subscribe, refusals (reference §4.5)', () => {
  test.each(encodings)('%s: returns success for a filled honeypot and forwards nothing', async (encoding) => {
    const answer = await expecting({}, () => post(at.service, path, encoding, { 'bot-field': 'x', email: 'nope' }));
    expect(answer.status).toBe(encoding === 'json' ? 200 : 303);
  });

  test('returns 400 with a list of the missing fields, or with a sentence for an invalid e-mail address', async () => {
    const nothing = await expecting({}, () => post(at.service, path, 'json', {}));
    expect([nothing.status, nothing.body.fields]).toEqual([400, ['email', 'privacy']]);
    const wrong = await expecting({}, () => post(at.service, path, 'json', { email: 'nope', privacy: 'on' }));
    expect([wrong.status, wrong.body]).toEqual([400, { error: expect.any(String) }]);
    const long = await expecting({}, () =>
      post(at.service, path, 'json', { email: `a@${'b'.repeat(250)}.co`, privacy: 'on' }),
    );
    expect(long.status).toBe(400);
  });

  test('accepts a native body of 8,000 bytes, and returns 413 for 8,001 bytes', async () => {
    for (const encoding of natives) {
      const padded = (length: number) => {
        const fields = { email: subscriber(), privacy: 'on' };
        return encode(encoding, {
          ...fields,
          z: 'y'.repeat(length - encode(encoding, { ...fields, z: '' }).length),
        });
      };
      await expecting({ forwarded: 1, mails: 1 }, () => postRaw(at.service, path, encoding, padded(8_000)));
      expect((await expecting({}, () => postRaw(at.service, path, encoding, padded(8_001)))).status).toBe(413);
    }
  });

  test.each(['{', '[]', '"x"', ''])('returns 400 for the invalid JSON form %j', async (body) => {
    expect((await expecting({}, () => postRaw(at.service, path, 'json', body))).status).toBe(400);
  });

  test('returns 400 with a JSON body for an unknown content type', async () => {
    const answer = await call(at.service, path, {
      headers: { 'content-type': 'text/plain' },
      body: 'email=a@b.co',
    });
    expect([answer.status, answer.body]).toEqual([400, { error: expect.any(String) }]);
  });

  test('returns 502 and queues no message if the upstream does not confirm', async () => {
    for (const status of [422, 429, 500]) {
      at.upstream.answer = answering(status);
      expect(
        (
          await expecting({ forwarded: 1 }, () =>
            post(at.service, path, 'json', { email: subscriber(), privacy: 'on' }),
          )
        ).status,
      ).toBe(502);
    }
  });

  test('answers five valid or invalid requests in 15 minutes, and counts them separately from /api/leads', async () => {
    const headers = { 'x-forwarded-for': freshAddress() };
    for (let n = 0; n < 5; n += 1) expect((await postRaw(at.service, path, 'json', '{', headers)).status).toBe(400);
    const refused = await expecting({}, () =>
      post(at.service, path, 'json', { email: subscriber(), privacy: 'on' }, headers),
    );
    expect([refused.status, refused.headers.get('retry-after'), refused.body.retry_after]).toEqual([429, '900', 900]);
    expect((await post(at.service, '/api/leads', 'json', { email: 'a@b.co' }, headers)).status).toBe(200);
    clock.advance(900_000);
    expect((await post(at.service, path, 'json', { email: subscriber(), privacy: 'on' }, headers)).status).toBe(200);
  });

  test.each([{ UPSTREAM_URL: '' }, { SMTP_URL: '', MAIL_FROM: '' }])(
    'returns 503 before it checks the rate with the settings %j',
    async (environment) => {
      const unconfigured = await startService({ environment });
      const answer = await post(unconfigured, path, 'json', { email: subscriber(), privacy: 'on' });
      await unconfigured.close();
      expect([answer.status, answer.headers.get('ratelimit')]).toEqual([503, null]);
    },
  );
});
