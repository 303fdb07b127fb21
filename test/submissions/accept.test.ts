import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { problems } from '../../src/failures/catalogue.ts';
import type { SubmissionRow } from '../../src/storage/schema.ts';
import { attemptsOf } from '../../src/submissions/attempts.ts';
import { type Answer, executeAction, previewId, quote } from '../support/agent.ts';
import { testClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { encodings, post } from '../support/forms.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { answering, type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';

const UUID_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const ORIGIN = 'https://shop.example';

describe.each(databases)('a submission is kept, on %s (beyond §1)', (_name, create) => {
  let database: TestDatabase;
  let service: Service;
  let upstream: ProgrammableUpstream;
  beforeAll(async () => {
    database = await create();
    upstream = await startUpstream();
    service = await startService({
      clock: testClock(),
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
  test('a telephone number of any length and alphabet is kept, for people write whole sentences there', async () => {
    const letters = Array.from({ length: 2_000 }, (_, index) =>
      String.fromCodePoint(0x4e00 + ((index * 7_919) % 20_000)),
    ).join('');
    for (const phone of [letters, '🎨'.repeat(1_000), '0'.repeat(2_000)]) {
      const answer = await post(service, '/api/leads', 'json', { ...lead(), phone });
      expect(answer.status).toBe(200);
      const { telephone, event } = await rowOf(answer.headers.get('submission-reference'));
      expect(phone.startsWith(telephone ?? '-')).toBe(true);
      expect(JSON.parse(event).data.fields.phone).toBe(phone);
    }
  });

  const referenceOf = (answer: Answer) => answer.headers.get('submission-reference');
  /** What the store held as the first byte arrived. */
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

  test.each(encodings)('%s: durably before its first byte leaves', async (encoding) => {
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
    expect(attemptsOf((await rowOf(seen().id)).attempts)).toEqual([
      { at: expect.any(String), ms: expect.any(Number), outcome: 'confirmed', by: 'first' },
    ]);
  });

  test('an execution’s too, with its claim', async () => {
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

  test('a success does not wait for the second commit, a subscription’s does', async () => {
    const { storage } = service.parts;
    const { write } = storage;
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
    const answer = await post(service, '/api/leads', 'json', lead());
    expect([answer.status, (await rowOf(referenceOf(answer))).status]).toEqual([200, 'sending']);
    storage.write = write;
    hold();
    let subscribed = false;
    const email = `subscriber-${people}@example.com`;
    const subscribing = post(service, '/api/subscribe', 'json', { email, privacy: 'on' }).then(
      () => {
        subscribed = true;
      },
    );
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
    'the upstream answers %i: 502 says that it is %s, with the reference',
    async (status, problem, row) => {
      upstream.answer = answering(status, { 'retry-after': '86400' });
      const fields = lead();
      const json = await post(service, '/api/leads', 'json', fields, { origin: ORIGIN });
      expect([json.status, json.body]).toEqual([502, { error: problems[problem].error }]);
      expect(referenceOf(json)).toBe(upstream.delivered.at(-1)?.headers['webhook-id']);
      expect(json.headers.get('access-control-expose-headers')?.toLowerCase()).toContain(
        'submission-reference',
      );
      expect(await rowOf(referenceOf(json))).toMatchObject(row);
      const native = await post(service, '/api/leads', 'urlencoded', lead());
      expect(native.status).toBe(502);
      expect(native.text).toContain(`<code>${referenceOf(native)}</code>`);
    },
  );

  test.each([
    ['waiting', 502, problems.kept.error],
    ['undelivered', 502, problems.left.error],
    ['delivered', 200, undefined],
  ] as const)(
    'who was paused beyond its lease tells what another has made of the row meanwhile: %s',
    async (status, wanted, error) => {
      upstream.answer = (response, { event }) => {
        const of = { status, attempt_number: 2 };
        void service.parts.storage
          .write((tx) =>
            tx.updateTable('submissions').set(of).where('id', '=', String(event.data.id)).execute(),
          )
          .then(() => answering(500)(response));
      };
      const answer = await post(service, '/api/leads', 'json', lead());
      expect(answer.status).toBe(wanted);
      if (error !== undefined) expect(answer.body).toEqual({ error });
      expect(await rowOf(referenceOf(answer))).toMatchObject({ status, attempts: '' });
    },
  );

  test('a success carries the reference, also across origins; a honeypot’s carries one made up', async () => {
    const headers = { origin: ORIGIN };
    const accepted = await post(service, '/api/leads', 'json', lead(), headers);
    const bot = await post(service, '/api/leads', 'json', { ...lead(), 'bot-field': 'x' }, headers);
    for (const answer of [accepted, bot]) {
      expect(answer.body).toEqual({ ok: true });
      expect(referenceOf(answer)).toMatch(UUID_7);
      expect(answer.headers.get('access-control-expose-headers')?.toLowerCase()).toContain(
        'submission-reference',
      );
    }
    await expect(rowOf(referenceOf(bot))).rejects.toThrow();
  });

  test('subscriptions, other refusals and the agent routes carry none', async () => {
    const subscription = () => ({ email: lead().email, privacy: 'on' });
    const confirmed = await post(service, '/api/subscribe', 'json', subscription());
    const bot = await post(service, '/api/subscribe', 'json', { 'bot-field': 'x' });
    // The same address again would tell of the row that waits: by whichever route, whoever types it.
    const toLeads = { email: lead().email };
    const asLead = [
      await post(service, '/api/leads', 'json', toLeads),
      await post(service, '/api/leads', 'json', { 'bot-field': 'x' }),
    ];
    upstream.answer = answering(500);
    for (const encoding of ['json', 'json', 'urlencoded'] as const) {
      asLead.push(await post(service, '/api/leads', encoding, toLeads));
    }
    expect(asLead.at(-1)?.text).toContain('<p class="reference" hidden>');
    const kept = await post(service, '/api/subscribe', 'json', subscription());
    expect(kept.body).toEqual({ error: problems.kept.error });
    const native = await post(service, '/api/subscribe', 'urlencoded', subscription());
    expect(native.text).toContain('<p class="reference" hidden>');
    const executed = await executeAction(service, await previewId(service));
    const invalid = await post(service, '/api/leads', 'json', { ...lead(), email: 'nope' });
    for (const answer of [confirmed, bot, ...asLead, kept, native, executed, invalid]) {
      expect(referenceOf(answer)).toBeNull();
    }
  });

  test('a subscription is mailed with the end of its attempt, also of a later one that meets what ours left there', async () => {
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

  test('a newsletter through /api/leads is forwarded, and no message goes to it (beyond §6)', async () => {
    const { email } = lead();
    const answer = await post(service, '/api/leads', 'json', { form: 'newsletter', email });
    expect(answer.status).toBe(200);
    const id = String(upstream.delivered.at(-1)?.headers['webhook-id']);
    await until(async () => (await rowOf(id)).status === 'delivered');
    const rows = await service.parts.storage.read((db) => db.selectFrom('messages').selectAll());
    expect(rows.map(({ address }) => address)).not.toContain(email);
  });
});
