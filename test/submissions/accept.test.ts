import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { problems } from '../../src/failures/catalogue.ts';
import type { SubmissionRow } from '../../src/storage/schema.ts';
import { parseAttempts } from '../../src/submissions/attempts.ts';
import { shortReference } from '../../src/submissions/submission.ts';
import { type Answer, executeAction, previewId, quote } from '../support/agent.ts';
import { testClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { encodings, post } from '../support/forms.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { answering, type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';

const UUID_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const ORIGIN = 'https://shop.example';

describe.each(databases)('storing a submission on %s (reference §10.6)', (_name, create) => {
  let database: TestDatabase;
  let service: Service;
  let upstream: ProgrammableUpstream;
  const clock = testClock();
  beforeAll(async () => {
    database = await create();
    upstream = await startUpstream();
    service = await startService({
      clock,
      environment: {
        DATABASE_URL: database.url,
        UPSTREAM_URL: upstream.url,
        ALLOWED_ORIGINS: ORIGIN,
      },
    });
  });
  afterEach(() => {
    upstream.answer = answering(200);
  });
  afterAll(async () => {
    await service.close();
    await upstream.close();
    await database.remove();
  });

  let people = 0;
  const lead = () => {
    people += 1;
    return { form: 'homeowner_quote', ...quote, email: `person-${people}@example.com` };
  };
  async function rowOf(id: unknown): Promise<SubmissionRow> {
    const [row] = await service.parts.storage.read((db) =>
      db.selectFrom('submissions').selectAll().where('id', '=', String(id)),
    );
    return row ?? expect.fail();
  }
  test('stores and indexes a telephone number of 2,000 characters in any alphabet', async () => {
    const letters = Array.from({ length: 2_000 }, (_, index) =>
      String.fromCodePoint(0x4e00 + ((index * 7_919) % 20_000)),
    ).join('');
    for (const phone of [letters, '🎨'.repeat(1_000), '0'.repeat(2_000)]) {
      const answer = await post(service, '/api/leads', 'json', { ...lead(), phone });
      expect(answer.status).toBe(200);
      const { search_text, event } = await rowOf(answer.headers.get('submission-reference'));
      expect(search_text).toContain(phone.normalize('NFKD'));
      expect(JSON.parse(event).data.fields.phone).toBe(phone);
    }
  });

  const referenceOf = (answer: Answer) => answer.headers.get('submission-reference');
  /** Returns the row as stored when the upstream got the first byte. */
  function lookFromInside(status = 200): () => SubmissionRow {
    let seen: SubmissionRow | undefined;
    upstream.answer = (response, { event }) => {
      void rowOf(event.data.id)
        .then((row) => {
          seen = row;
        })
        .finally(() => answering(status)(response));
    };
    return () => seen ?? expect.fail();
  }

  test.each(encodings)('%s: commits the submission as sending before its first byte leaves', async (encoding) => {
    const seen = lookFromInside();
    const fields = lead();
    const answer = await post(service, '/api/leads', encoding, fields);
    const { body } = upstream.delivered.at(-1) ?? expect.fail();
    expect(seen()).toMatchObject({
      id: referenceOf(answer),
      origin: 'browser',
      form: 'homeowner_quote',
      email: fields.email,
      status: 'sending',
      attempts: '',
      event: body,
      stored_here: 0,
    });
    expect(seen().id).toMatch(UUID_7);
    await until(async () => (await rowOf(seen().id)).status === 'delivered');
    expect(parseAttempts((await rowOf(seen().id)).attempts)).toEqual([
      { at: expect.any(String), ms: expect.any(Number), outcome: 'confirmed', by: 'first', http_status: 200 },
    ]);
  });

  test.each([
    [202, 'confirmed', 202],
    [422, 'rejected', 422],
    [429, 'rateLimited', 429],
    [503, 'unconfirmed', 503],
    ['a lost connection', 'unconfirmed', null],
  ] as const)('records only the HTTP status of %s, for a lead and an execution', async (answered, outcome, status) => {
    upstream.answer = (response) => {
      if (typeof answered !== 'number') return response.destroy();
      return response.writeHead(answered, { 'x-receiver': 'secret' }).end('{"secret":"body"}');
    };
    const sent = await post(service, '/api/leads', 'json', lead());
    const { body } = await executeAction(service, await previewId(service));
    const actionId = body.receipt?.action_id ?? upstream.delivered.at(-1)?.event.data.id;
    for (const id of [referenceOf(sent), actionId]) {
      await until(async () => (await rowOf(id)).status !== 'sending');
      const row = await rowOf(id);
      expect(parseAttempts(row.attempts)).toMatchObject([{ outcome, http_status: status }]);
      expect(JSON.stringify(row)).not.toContain('secret');
    }
  });

  test('commits an execution’s submission with its claim', async () => {
    const seen = lookFromInside();
    const { body } = await executeAction(service, await previewId(service));
    expect(seen()).toMatchObject({
      id: body.receipt.action_id,
      origin: 'agent',
      status: 'sending',
      next_attempt_ms: null,
      lease_started_ms: null,
      fields_digest: null,
    });
    expect(body.receipt.action_id).toMatch(UUID_7);
    expect((await rowOf(seen().id)).status).toBe('delivered');
  });

  test('answers a lead before the second commit, and a subscription after the second commit', async () => {
    const { storage } = service.parts;
    const { write } = storage;
    const { after } = clock;
    const held = Promise.withResolvers<void>();
    const hold = () => {
      upstream.answer = (response) => {
        storage.write = async (run) => {
          await held.promise;
          return await write(run);
        };
        response.writeHead(200).end();
      };
    };
    hold();
    // Without timers, an answer that waits for the store would never come.
    clock.after = () => () => {};
    const answer = await post(service, '/api/leads', 'json', lead());
    clock.after = after;
    expect([answer.status, (await rowOf(referenceOf(answer))).status]).toEqual([200, 'sending']);
    storage.write = write;
    hold();
    let subscribed = false;
    const email = `subscriber-${people}@example.com`;
    const subscribing = post(service, '/api/subscribe', 'json', { email, privacy: 'on' }).then(() => {
      subscribed = true;
    });
    await until(() => upstream.delivered.at(-1)?.body.includes(email) === true);
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(subscribed).toBe(false);
    held.resolve();
    storage.write = write;
    await subscribing;
    await until(async () => (await rowOf(referenceOf(answer))).status === 'delivered');
  });

  test.each([
    [500, 'kept', { status: 'waiting', step: 0, reason: null }],
    [429, 'kept', { status: 'waiting', step: 0, reason: null }],
    [422, 'left', { status: 'undelivered', step: null, reason: 'rejected' }],
  ] as const)(
    'upstream %i: returns 502 with the reference and the sentence of the problem %s',
    async (status, problem, row) => {
      upstream.answer = answering(status, { 'retry-after': '86400' });
      const fields = lead();
      const json = await post(service, '/api/leads', 'json', fields, { origin: ORIGIN });
      expect([json.status, json.body]).toEqual([502, { error: problems[problem].error }]);
      expect(referenceOf(json)).toBe(upstream.delivered.at(-1)?.headers['webhook-id']);
      expect(json.headers.get('access-control-expose-headers')?.toLowerCase()).toContain('submission-reference');
      expect(await rowOf(referenceOf(json))).toMatchObject(row);
      const native = await post(service, '/api/leads', 'urlencoded', lead());
      expect(native.status).toBe(502);
      expect(native.text).toContain(`<code>${shortReference(String(referenceOf(native)))}</code>`);
    },
  );

  test.each([
    ['waiting', 502, problems.kept.error],
    ['undelivered', 502, problems.left.error],
    ['delivered', 200, undefined],
  ] as const)(
    'answers by the row’s current status if another process changed that status to %s meanwhile',
    async (status, wanted, error) => {
      upstream.answer = (response, { event }) => {
        const of = { status, attempt_number: 2 };
        void service.parts.storage
          .write((tx) => tx.updateTable('submissions').set(of).where('id', '=', String(event.data.id)).execute())
          .then(() => answering(500)(response));
      };
      const answer = await post(service, '/api/leads', 'json', lead());
      expect(answer.status).toBe(wanted);
      if (error !== undefined) expect(answer.body).toEqual({ error });
      expect(await rowOf(referenceOf(answer))).toMatchObject({ status, attempts: '' });
    },
  );

  test('returns the reference with a success, also across origins, and a random reference for a filled honeypot', async () => {
    const headers = { origin: ORIGIN };
    const accepted = await post(service, '/api/leads', 'json', lead(), headers);
    const bot = await post(service, '/api/leads', 'json', { ...lead(), 'bot-field': 'x' }, headers);
    for (const answer of [accepted, bot]) {
      expect(answer.body).toEqual({ ok: true });
      expect(referenceOf(answer)).toMatch(UUID_7);
      expect(answer.headers.get('access-control-expose-headers')?.toLowerCase()).toContain('submission-reference');
    }
    await expect(rowOf(referenceOf(bot))).rejects.toThrow();
  });

  test('returns no reference for subscriptions, other refusals and agent routes', async () => {
    const subscription = () => ({ email: lead().email, privacy: 'on' });
    const confirmed = await post(service, '/api/subscribe', 'json', subscription());
    const bot = await post(service, '/api/subscribe', 'json', { 'bot-field': 'x' });
    // A repeated address would reveal the waiting row, by either route.
    const toLeads = { email: lead().email };
    const asLead = [
      await post(service, '/api/leads', 'json', toLeads),
      await post(service, '/api/leads', 'json', { 'bot-field': 'x' }),
    ];
    upstream.answer = answering(500);
    for (const encoding of ['json', 'json', 'urlencoded'] as const) {
      asLead.push(await post(service, '/api/leads', encoding, toLeads));
    }
    expect(asLead.at(-1)?.text).not.toContain('<p class="reference"');
    const kept = await post(service, '/api/subscribe', 'json', subscription());
    expect(kept.body).toEqual({ error: problems.kept.error });
    const native = await post(service, '/api/subscribe', 'urlencoded', subscription());
    expect(native.text).not.toContain('<p class="reference"');
    const executed = await executeAction(service, await previewId(service));
    const invalid = await post(service, '/api/leads', 'json', { ...lead(), email: 'nope' });
    for (const answer of [confirmed, bot, ...asLead, kept, native, executed, invalid]) {
      expect(referenceOf(answer)).toBeNull();
    }
  });

  test('queues the message of a subscription only after an attempt is confirmed, the first or a later one', async () => {
    const email = lead().email;
    const mails = async () => {
      const rows = await service.parts.storage.read((db) => db.selectFrom('messages').selectAll());
      return rows.filter(({ address }) => address === email).length;
    };
    upstream.answer = answering(500);
    await post(service, '/api/subscribe', 'json', { email, privacy: 'on' });
    expect(await mails()).toBe(0);
    upstream.answer = answering(409);
    const again = await post(service, '/api/subscribe', 'json', { email, privacy: 'on' });
    expect([again.status, again.body, await mails()]).toEqual([200, { ok: true }, 1]);
  });

  test('forwards a newsletter through /api/leads without a message to its address (reference §4.2)', async () => {
    const { email } = lead();
    const answer = await post(service, '/api/leads', 'json', { form: 'newsletter', email });
    expect(answer.status).toBe(200);
    const id = String(upstream.delivered.at(-1)?.headers['webhook-id']);
    await until(async () => (await rowOf(id)).status === 'delivered');
    const rows = await service.parts.storage.read((db) => db.selectFrom('messages').selectAll());
    expect(rows.map(({ address }) => address)).not.toContain(email);
  });
});
