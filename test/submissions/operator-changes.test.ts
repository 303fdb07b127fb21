import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Storage } from '../../src/storage/database.ts';
import type { SubmissionRow } from '../../src/storage/schema.ts';
import type { Attempt } from '../../src/submissions/attempts.ts';
import {
  type ChangeRefusal,
  type DismissalReason,
  dismiss,
  type ResendRequest,
  type Resent,
  requestResend,
  resent,
  undeliveredIds,
} from '../../src/submissions/operator-changes.ts';
import { testClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { allRows, attemptLine, keepRows, submissionRow } from '../support/submissions.ts';

type Given = Parameters<typeof submissionRow>[0];

const waiting: Given = { status: 'waiting', step: 2, next_attempt_ms: 5 };
const undelivered: Given = { status: 'undelivered', reason: 'attempts_used_up' };
const empty: Given = { fields: {} };

describe.each(databases)('operator changes to a submission on %s', (name, create) => {
  const clock = testClock();
  let database: TestDatabase;
  let storage: Storage;

  beforeAll(async () => {
    database = await create();
    storage = await database.open(clock);
  });
  beforeEach(() => storage.write(async (tx) => void (await tx.deleteFrom('submissions').execute())));
  afterAll(async () => {
    await storage.close();
    await database.remove();
  });

  async function keep(given: Given): Promise<SubmissionRow> {
    const row = submissionRow(given);
    await keepRows(storage, [row]);
    return row;
  }
  const resend = (id: string) => storage.write((tx) => requestResend(storage, tx, id));
  const putAway = (id: string, reason: DismissalReason, keepsContent = true) =>
    storage.write((tx) => dismiss(storage, tx, id, { reason, keepsContent }));
  const rowNow = async () => (await allRows(storage))[0] ?? expect.fail('the row is gone');

  /** Compares with the database's clock. PostgreSQL uses its own instead of the test's. */
  function expectNow(ms: number | null): void {
    const now = name === 'SQLite' ? clock.now().getTime() : Date.now();
    expect(Math.abs(Number(ms) - now)).toBeLessThan(60_000);
  }

  test.each<[string, Given]>([
    ['waits', waiting],
    ['is undelivered', undelivered],
    ['was delivered', {}],
    ['is stored in the inbox', { stored_here: 1 }],
    ['was dismissed', { status: 'dismissed', reason: 'spam' }],
  ])('requestResend marks a submission that %s, and changes nothing else', async (_what, given) => {
    const { id, ...before } = await keep({ ...given, attempts: [{}, {}] });
    expect(await resend(id)).toEqual({ kind: 'asked', asked: { id, attempts: 2 } });
    const { resend_asked_ms: asked, ...after } = await rowNow();
    expect({ ...after, resend_asked_ms: null }).toEqual({ id, ...before });
    expectNow(asked);
  });

  test.each<[string, Given, ChangeRefusal]>([
    ['an undelivered submission of an agent', { ...undelivered, origin: 'agent' }, 'agent'],
    ['a delivered submission of an agent', { origin: 'agent' }, 'agent'],
    ['a submission that is being sent', { status: 'sending' }, 'underWay'],
    ['a submission already marked for resending', { ...waiting, resend_asked_ms: 1 }, 'underWay'],
    ['a submission without content', empty, 'contentGone'],
    ['a submission that was sent unstored', { status: 'undelivered', reason: 'sent_unkept' }, 'sentUnkept'],
  ])('requestResend refuses %s and changes nothing', async (_what, given, why) => {
    const row = await keep(given);
    expect(await resend(row.id)).toEqual({ kind: 'refused', why });
    expect(await rowNow()).toEqual(row);
  });

  test('requestResend and dismiss refuse an unknown id', async () => {
    const refused = { kind: 'refused', why: 'unknown' };
    expect(await resend('nothing')).toEqual(refused);
    expect(await putAway('nothing', 'spam')).toEqual(refused);
  });

  test('undeliveredIds returns browser submissions that can still be sent, oldest first', async () => {
    const [first, second] = ['2026-09-01T12:00:00.000Z', '2026-09-02T12:00:00.000Z'];
    const later = await keep({ ...undelivered, receivedAt: second });
    const earlier = await keep({ ...undelivered, receivedAt: first });
    await keep({ ...undelivered, origin: 'agent', reason: 'execution_failed' });
    await keep({ ...undelivered, ...empty });
    await keep({ ...undelivered, reason: 'sent_unkept' });
    await keep({ ...undelivered, resend_asked_ms: 1 });
    await keep(waiting);
    expect(await undeliveredIds(storage)).toEqual([earlier.id, later.id]);
  });

  test.each<[string, Given]>([
    ['waits', waiting],
    ['is undelivered', undelivered],
    ['could not be delivered for an agent', { ...undelivered, origin: 'agent' }],
  ])('dismiss stores the reason and the content of a submission that %s', async (_what, given) => {
    const { id, event, email } = await keep(given);
    expect(await putAway(id, 'answered')).toEqual({
      kind: 'dismissed',
    });
    const row = await rowNow();
    expect(row).toMatchObject({ status: 'dismissed', reason: 'answered', event, email });
    expect([row.step, row.next_attempt_ms]).toEqual([null, null]);
    expectNow(row.status_since_ms);
  });

  test('dismiss deletes the content if the settings store no content after a submission’s end', async () => {
    const { id } = await keep(undelivered);
    await putAway(id, 'spam', false);
    const row = await rowNow();
    expect(row).toMatchObject({ status: 'dismissed', email: null, fields_digest: null });
    expect(JSON.parse(row.event).data).toMatchObject({ id, fields: {} });
  });

  test.each<[string, Given, ChangeRefusal]>([
    ['a submission that is being sent', { status: 'sending' }, 'underWay'],
    ['a submission marked for resending', { ...undelivered, resend_asked_ms: 1 }, 'underWay'],
    ['a delivered submission', {}, 'delivered'],
    ['a dismissed submission', { status: 'dismissed', reason: 'spam' }, 'dismissed'],
  ])('dismiss refuses %s', async (_what, given, why) => {
    const row = await keep(given);
    const answer = await putAway(row.id, 'other');
    expect(answer).toEqual({ kind: 'refused', why });
    expect(await rowNow()).toEqual(row);
  });

  describe('resent', () => {
    /** Runs `resent` while a step of a service happens at each of its reads. Returns its results and its waiting time. */
    async function see(steps: readonly (() => Promise<unknown>)[], asked: readonly ResendRequest[]) {
      let waitedMs = 0;
      let next = 0;
      const looking = {
        monotonic: () => waitedMs,
        sleep: async (ms: number) => {
          waitedMs += ms;
          await steps[next++]?.();
        },
      };
      const seen: Resent[] = [];
      for await (const one of resent(storage, looking, asked)) seen.push(one);
      return { seen, waitedMs };
    }
    const set = (id: string, change: Partial<SubmissionRow>) => () =>
      storage.write((tx) => tx.updateTable('submissions').set(change).where('id', '=', id).execute());
    const take = (id: string) => set(id, { status: 'sending', resend_asked_ms: null });
    const settle = (id: string, status: 'delivered' | 'waiting', ...ended: Partial<Attempt>[]) =>
      set(id, { status, attempts: ended.map((one) => attemptLine(one)).join('') });
    const ask = async (given: Given): Promise<ResendRequest> => {
      const answer = await resend((await keep(given)).id);
      return answer.kind === 'asked' ? answer.asked : expect.fail('it was refused');
    };

    test('returns the outcome of the operator’s attempt after that attempt has ended', async () => {
      const first = { by: 'operator', outcome: 'confirmed' } as const;
      const asked = await ask({ ...undelivered, attempts: [first] });
      const failed = { by: 'operator', outcome: 'rateLimited' } as const;
      const { id } = asked;
      const { seen } = await see([take(id), settle(id, 'waiting', first, failed)], [asked]);
      expect(seen).toEqual([{ id, kind: 'ended', outcome: 'rateLimited' }]);
    });

    test('returns notTaken if the mark is removed without an attempt, although an earlier attempt was the operator’s', async () => {
      const asked = await ask({ ...undelivered, attempts: [{ by: 'operator', outcome: 'confirmed' }] });
      const { seen } = await see([set(asked.id, { resend_asked_ms: null })], [asked]);
      expect(seen).toEqual([{ id: asked.id, kind: 'notTaken' }]);
    });

    test('returns the outcome of the last attempt if the operator asks again during the first', async () => {
      const asked = await ask(undelivered);
      const { id } = asked;
      const failed = { by: 'operator', outcome: 'rateLimited' } as const;
      const askedAgain = set(id, { attempts: attemptLine(failed), resend_asked_ms: 1 });
      const end = settle(id, 'delivered', failed, { by: 'operator' });
      const { seen } = await see([askedAgain, take(id), end], [asked]);
      expect(seen).toEqual([{ id, kind: 'ended', outcome: 'confirmed' }]);
    });

    test('returns the outcome even if the content is deleted at the end of the attempt', async () => {
      const asked = await ask(waiting);
      const { id } = asked;
      const end = settle(id, 'delivered', { by: 'operator' });
      const { seen } = await see([take(id), end, set(id, { email: null })], [asked]);
      expect(seen).toEqual([{ id, kind: 'ended', outcome: 'confirmed' }]);
    });

    test('ignores a redelivery that ends before the operator’s attempt', async () => {
      const asked = await ask(waiting);
      const { id } = asked;
      const redelivery = { by: 'redelivery', outcome: 'unconfirmed' } as const;
      const steps = [
        take(id),
        settle(id, 'waiting', redelivery),
        take(id),
        settle(id, 'delivered', redelivery, { by: 'operator' }),
      ];
      const { seen, waitedMs } = await see(steps, [asked]);
      expect([seen, waitedMs]).toEqual([[{ id, kind: 'ended', outcome: 'confirmed' }], 1_000]);
    });

    test('returns notTaken after 30 s if no service starts the attempt, and does not remove the mark', async () => {
      const asked = await ask(undelivered);
      const { seen, waitedMs } = await see([], [asked]);
      expect([seen, waitedMs]).toEqual([[{ id: asked.id, kind: 'notTaken' }], 30_000]);
      expectNow((await rowNow()).resend_asked_ms);
    });

    test('waits longer while a submission is being sent, and another 30 s for the next submission', async () => {
      const [one, other] = [await ask(undelivered), await ask(undelivered)];
      const idle = async () => {};
      const steps = [
        ...Array.from({ length: 100 }, () => idle),
        take(one.id),
        ...Array.from({ length: 200 }, () => idle),
        settle(one.id, 'delivered', { by: 'operator' }),
      ];
      const { seen, waitedMs } = await see(steps, [one, other]);
      expect(seen.map(({ id, kind }) => [id, kind])).toEqual([
        [one.id, 'ended'],
        [other.id, 'notTaken'],
      ]);
      expect(waitedMs).toBe(steps.length * 250 + 30_000);
    });

    test('returns gone for a submission that was erased or lost its content meanwhile', async () => {
      const [one, other] = [await ask(undelivered), await ask(undelivered)];
      const erase = () => storage.write((tx) => tx.deleteFrom('submissions').where('id', '=', one.id).execute());
      const { seen } = await see([erase, set(other.id, { email: null, resend_asked_ms: null })], [one, other]);
      expect(seen.map(({ kind }) => kind)).toEqual(['gone', 'gone']);
    });
  });
});
