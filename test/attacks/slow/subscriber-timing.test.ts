/**
 * The answer to a subscription and the page of a link reveal no one's membership (reference §9.8, ASVS 6.3.8).
 * `SAMPLES=10000` measures more precisely than a run of CI.
 */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../../src/platform/clock.ts';
import { newId } from '../../../src/platform/random.ts';
import type { Storage } from '../../../src/storage/database.ts';
import type { SubmissionRow, SubscriberRow } from '../../../src/storage/schema.ts';
import { confirm, leave, newSubscriber } from '../../newsletter/rig.ts';
import { databases, type TestDatabase } from '../../support/databases.ts';
import { inTurn } from '../../support/in-turn.ts';
import { mannWhitney } from '../../support/mann-whitney.ts';
import { type ServiceProcess, startProcess } from '../../support/process.ts';
import { expectAlike, type Kinds, post, SAMPLES, sample, timed } from '../../support/timing.ts';
import { until } from '../../support/until.ts';
import { type ProgrammableUpstream, startUpstream } from '../../support/upstream.ts';

vi.setConfig({ testTimeout: 120_000 + 120 * SAMPLES });

/** Rows of one statement. */
const ROWS_AT_ONCE = 200;
const token = () => randomBytes(16).toString('base64url');

let people = 0;
const somebody = () => `somebody-${++people}@example.com`;

/** Returns new subscribers with the status of this one. Their rows are copies with links and ids of their own. */
async function standingAs(
  storage: Storage,
  { id }: SubscriberRow,
  count: number,
  changes: Partial<SubscriberRow> = {},
): Promise<SubscriberRow[]> {
  const [row] = await storage.read((db) => db.selectFrom('subscribers').selectAll().where('id', '=', id));
  const kept = await storage.read((db) => db.selectFrom('submissions').selectAll().where('subscriber_id', '=', id));
  if (row === undefined) return expect.fail();
  const copies: SubscriberRow[] = [];
  while (copies.length < count) {
    const submissions: SubmissionRow[] = [];
    const subscribers = Array.from({ length: Math.min(ROWS_AT_ONCE, count - copies.length) }, () => {
      const email = somebody();
      const theirs = { id: newId(), email, confirm_token: token(), leave_token: token() };
      for (const each of kept) {
        const own = {
          id: newId(),
          email,
          subscriber_id: theirs.id,
          event: each.event.replaceAll(row.email, email),
          ...(each.subscriber !== null && { subscriber: email }),
          ...(each.fields_digest !== null && { fields_digest: token() }),
        };
        submissions.push({ ...each, ...own });
      }
      return { ...row, ...changes, ...theirs };
    });
    await storage.write(async (tx) => {
      await tx.insertInto('subscribers').values(subscribers).execute();
      while (submissions.length > 0) {
        const some = submissions.splice(0, ROWS_AT_ONCE);
        await tx.insertInto('submissions').values(some).execute();
      }
    });
    copies.push(...subscribers);
  }
  return copies;
}

describe.each(
  inTurn(
    databases.flatMap(([name, create]) => [
      { name, create, to: 'the embedded inbox' },
      { name, create, to: 'an upstream that knows members' },
    ]),
    4,
  ),
)('subscriber timing, $name, $to', ({ create, to }) => {
  let database: TestDatabase;
  let storage: Storage;
  let upstream: ProgrammableUpstream;
  let service: ServiceProcess;
  beforeAll(async () => {
    database = await create();
    upstream = await startUpstream();
    service = await startProcess({
      environment: {
        DATABASE_URL: database.url,
        MAIL_PER_MINUTE: '1',
        LOG_LEVEL: 'error',
        ...(to !== 'the embedded inbox' && { UPSTREAM_URL: upstream.url }),
      },
    });
    storage = await database.open(systemClock);
  });
  afterAll(async () => {
    await service.end();
    await storage.close();
    await upstream.close();
    await database.remove();
  });

  test('answers a subscription identically and equally fast for new, pending, confirmed and unsubscribed addresses', async () => {
    const known = new Set<string>();
    upstream.answer = (response, { event }) => {
      const { email } = event.data.fields as { email: string };
      setTimeout(() => response.writeHead(known.has(email) ? 409 : 200).end(), 5);
    };
    const at = { url: service.url, parts: { storage } };
    const [asked, confirmed, left] = [await newSubscriber(at), await newSubscriber(at), await newSubscriber(at)];
    await confirm(service, confirmed);
    await confirm(service, left);
    await leave(service, left);
    const sending = () =>
      storage.read((db) => db.selectFrom('submissions').select('id').where('status', '=', 'sending'));
    await until(async () => (await sending()).length === 0);
    const draw = async (each = SAMPLES): Promise<Kinds> => {
      const subscribe = (email: string) =>
        post(service, '/api/subscribe', { email, privacy: 'on', contractor: 'acme' });
      const ofEach = async (row: SubscriberRow) => {
        const rows = await standingAs(storage, row, each);
        for (const { email } of rows) known.add(email);
        return () => subscribe(rows.pop()?.email ?? expect.fail());
      };
      return {
        new: () => subscribe(somebody()),
        pending: await ofEach(asked),
        confirmed: await ofEach(confirmed),
        unsubscribed: await ofEach(left),
      };
    };
    // The first requests of a process are slower than all others.
    await sample(await draw(100), 100);
    await expectAlike(draw);
  });
});

describe.each(inTurn(databases, 2))('subscriber timing, links, on %s', (_name, create) => {
  let database: TestDatabase;
  let storage: Storage;
  let service: ServiceProcess;
  let rows: { asked: SubscriberRow[]; left: SubscriberRow[]; expired: SubscriberRow[] };
  beforeAll(async () => {
    database = await create();
    service = await startProcess({
      environment: { DATABASE_URL: database.url, MAIL_PER_MINUTE: '1', LOG_LEVEL: 'error' },
    });
    storage = await database.open(systemClock);
    const at = { url: service.url, parts: { storage } };
    const [asked, left] = [await newSubscriber(at), await newSubscriber(at)];
    await leave(service, left);
    const past = { expires_at: new Date(Date.now() - 1).toISOString() };
    const [gone] = await standingAs(storage, asked, 1, past);
    // The sweep runs once at the start and then hourly, so rows that expire now stay.
    await until(async () => {
      const found = storage.read((db) =>
        db
          .selectFrom('subscribers')
          .select('id')
          .where('id', '=', gone?.id ?? ''),
      );
      return (await found).length === 0;
    }, 30_000);
    rows = {
      asked: await standingAs(storage, asked, 100),
      left: await standingAs(storage, left, 100),
      expired: await standingAs(storage, asked, 100, past),
    };
    // The first requests of a process are slower than all others.
    for (let n = 0; n < 300; n += 1) {
      await timed(service, 'GET', `/newsletter/leave/${token()}`);
      await timed(service, 'POST', `/newsletter/confirm/${token()}`);
    }
  });
  afterAll(async () => {
    await service.end();
    await storage.close();
    await database.remove();
  });

  let turn = 0;
  const one = (of: SubscriberRow[]) => of[turn++ % of.length] ?? expect.fail();

  test('shows the page to unsubscribe identically and equally fast for every token', async () => {
    const look = (of: string) => timed(service, 'GET', `/newsletter/leave/${of}`);
    await expectAlike(() => ({
      unknown: () => look(token()),
      pending: () => look(one(rows.asked).leave_token),
      left: () => look(one(rows.left).leave_token),
      expired: () => look(one(rows.expired).leave_token),
    }));
  });

  test('answers a repeated unsubscribe, an expired link and an unknown link identically and equally fast', async () => {
    const press = (of: string) => timed(service, 'POST', `/newsletter/leave/${of}`);
    await expectAlike(() => ({
      unknown: () => press(token()),
      left: () => press(one(rows.left).leave_token),
      expired: () => press(one(rows.expired).leave_token),
    }));
  });

  test.each(['GET', 'POST'] as const)(
    'answers %s of an expired and of an unknown confirmation link identically and equally fast',
    async (method) => {
      const ask = (of: string) => timed(service, method, `/newsletter/confirm/${of}`);
      await expectAlike(() => ({
        unknown: () => ask(token()),
        expired: () => ask(one(rows.expired).confirm_token),
      }));
    },
  );

  test('the measurement detects the difference between an unknown link and one that unsubscribes', async () => {
    const some = 500;
    const asked = await standingAs(storage, rows.asked[0] ?? expect.fail(), some);
    const press = (of: string) => timed(service, 'POST', `/newsletter/leave/${of}`);
    const { times, answers } = await sample(
      { unknown: () => press(token()), asked: () => press(one(asked).leave_token) },
      some,
    );
    // Only the subscriber has such a link, so the difference reveals nothing to others.
    expect(answers.size).toBe(1);
    expect(mannWhitney(times[1] ?? [], times[0] ?? [])).toBeGreaterThan(10);
  });
});
