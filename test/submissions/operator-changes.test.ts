import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Storage } from '../../src/storage/database.ts';
import type { SubmissionRow } from '../../src/storage/schema.ts';
import type { Attempt } from '../../src/submissions/attempts.ts';
import {
  type Asked,
  askForResend,
  dismiss,
  type Refused,
  undeliveredIds,
} from '../../src/submissions/operator-changes.ts';
import { type Resent, resent } from '../../src/submissions/resend.ts';
import { testClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { allRows, attemptLine, keepRows, submissionRow } from '../support/submissions.ts';

type Given = Parameters<typeof submissionRow>[0];

const waiting: Given = { status: 'waiting', step: 2, next_attempt_ms: 5 };
const undelivered: Given = { status: 'undelivered', reason: 'attempts_used_up' };
const empty: Given = { fields: {} };

describe.each(databases)('what the operator does to a row, on %s', (name, create) => {
  const clock = testClock();
  let database: TestDatabase;
  let storage: Storage;

  beforeAll(async () => {
    database = await create();
    storage = await database.open(clock);
  });
  beforeEach(() =>
    storage.write(async (tx) => void (await tx.deleteFrom('submissions').execute())),
  );
  afterAll(async () => {
    await storage.close();
    await database.remove();
  });

  async function keep(given: Given): Promise<SubmissionRow> {
    const row = submissionRow(given);
    await keepRows(storage, [row]);
    return row;
  }
  const rowNow = async () => (await allRows(storage))[0] ?? expect.fail('the row is gone');

  /** The database's own clock: only the test's own stands. */
  function expectNow(ms: number | null): void {
    const now = name === 'SQLite' ? clock.now().getTime() : Date.now();
    expect(Math.abs(Number(ms) - now)).toBeLessThan(60_000);
  }

  test.each<[string, Given]>([
    ['waits', waiting],
    ['is undelivered', undelivered],
    ['was delivered', {}],
    ['the inbox holds', { stored_here: 1 }],
  ])('what %s is marked, and nothing else of it changes', async (_what, given) => {
    const { id, ...before } = await keep({ ...given, attempts: [{}, {}] });
    expect(await askForResend(storage, id)).toEqual({ kind: 'asked', asked: { id, attempts: 2 } });
    const { resend_asked_ms: asked, ...after } = await rowNow();
    expect({ ...after, resend_asked_ms: null }).toEqual({ id, ...before });
    expectNow(asked);
  });

  test.each<[string, Given, Refused]>([
    ['an agent’s', { ...undelivered, origin: 'agent' }, 'agent'],
    ['a delivered one of an agent', { origin: 'agent' }, 'agent'],
    ['what is being sent', { status: 'sending' }, 'underWay'],
    ['what is asked for already', { ...waiting, resend_asked_ms: 1 }, 'underWay'],
    ['what was dismissed', { status: 'dismissed', reason: 'spam' }, 'dismissed'],
    ['what has lost its content', empty, 'contentGone'],
    ['what was sent unkept', { status: 'undelivered', reason: 'sent_unkept' }, 'sentUnkept'],
  ])('%s is not sent again, and stays as it is', async (_what, given, why) => {
    const row = await keep(given);
    expect(await askForResend(storage, row.id)).toEqual({ kind: 'refused', why });
    expect(await rowNow()).toEqual(row);
  });

  test('what there is not is refused', async () => {
    const refused = { kind: 'refused', why: 'unknown' };
    expect(await askForResend(storage, 'nothing')).toEqual(refused);
    expect(await dismiss(storage, 'nothing', 'spam', { keepsContent: true })).toEqual(refused);
  });

  test('undelivered ones are those of browsers that can still be sent, oldest first', async () => {
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
    ['an agent could not deliver', { ...undelivered, origin: 'agent' }],
  ])('what %s is dismissed for a reason, and keeps what was typed', async (_what, given) => {
    const { id, event, email } = await keep(given);
    expect(await dismiss(storage, id, 'answered', { keepsContent: true })).toEqual({
      kind: 'dismissed',
    });
    const row = await rowNow();
    expect(row).toMatchObject({ status: 'dismissed', reason: 'answered', event, email });
    expect([row.step, row.next_attempt_ms]).toEqual([null, null]);
    expectNow(row.status_since_ms);
  });

  test('where nothing is kept after its end, what was typed goes with the dismissal', async () => {
    const { id } = await keep(undelivered);
    await dismiss(storage, id, 'spam', { keepsContent: false });
    const row = await rowNow();
    expect(row).toMatchObject({ status: 'dismissed', email: null, fields_digest: null });
    expect(JSON.parse(row.event).data).toMatchObject({ id, fields: {} });
  });

  test.each<[string, Given, Refused]>([
    ['what is being sent', { status: 'sending' }, 'underWay'],
    ['what is asked for again', { ...undelivered, resend_asked_ms: 1 }, 'underWay'],
    ['what was delivered', {}, 'delivered'],
    ['what was dismissed', { status: 'dismissed', reason: 'spam' }, 'dismissed'],
  ])('%s is not dismissed', async (_what, given, why) => {
    const row = await keep(given);
    const answer = await dismiss(storage, row.id, 'other', { keepsContent: true });
    expect(answer).toEqual({ kind: 'refused', why });
    expect(await rowNow()).toEqual(row);
  });

  describe('what was asked for is waited for', () => {
    /** A service that does the next of these at each look, and the waiting that sees it. */
    async function see(steps: readonly (() => Promise<unknown>)[], asked: readonly Asked[]) {
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
      storage.write((tx) =>
        tx.updateTable('submissions').set(change).where('id', '=', id).execute(),
      );
    const take = (id: string) => set(id, { status: 'sending', resend_asked_ms: null });
    const settle = (id: string, status: 'delivered' | 'waiting', ...ended: Partial<Attempt>[]) =>
      set(id, { status, attempts: ended.map((one) => attemptLine(one)).join('') });
    const ask = async (given: Given): Promise<Asked> => {
      const answer = await askForResend(storage, (await keep(given)).id);
      return answer.kind === 'asked' ? answer.asked : expect.fail('it was refused');
    };

    test('until an attempt of the operator has ended, and what it came to is told', async () => {
      const first = { by: 'operator', outcome: 'confirmed' } as const;
      const asked = await ask({ ...undelivered, attempts: [first] });
      const failed = { by: 'operator', outcome: 'rateLimited' } as const;
      const { id } = asked;
      const { seen } = await see([take(id), settle(id, 'waiting', first, failed)], [asked]);
      expect(seen).toEqual([{ id, kind: 'ended', outcome: 'rateLimited' }]);
    });

    test('also where the content goes with its end', async () => {
      const asked = await ask(waiting);
      const { id } = asked;
      const end = settle(id, 'delivered', { by: 'operator' });
      const { seen } = await see([take(id), end, set(id, { email: null })], [asked]);
      expect(seen).toEqual([{ id, kind: 'ended', outcome: 'confirmed' }]);
    });

    test('an attempt that somebody else made is not the one', async () => {
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

    test('30 s where no service takes it; it stays marked', async () => {
      const asked = await ask(undelivered);
      const { seen, waitedMs } = await see([], [asked]);
      expect([seen, waitedMs]).toEqual([[{ id: asked.id, kind: 'notTaken' }], 30_000]);
      expectNow((await rowNow()).resend_asked_ms);
    });

    test('longer while one is being sent, and for the next in turn', async () => {
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

    test('what is erased or loses its content meanwhile is gone', async () => {
      const [one, other] = [await ask(undelivered), await ask(undelivered)];
      const erase = () =>
        storage.write((tx) => tx.deleteFrom('submissions').where('id', '=', one.id).execute());
      const { seen } = await see(
        [erase, set(other.id, { email: null, resend_asked_ms: null })],
        [one, other],
      );
      expect(seen.map(({ kind }) => kind)).toEqual(['gone', 'gone']);
    });
  });
});
