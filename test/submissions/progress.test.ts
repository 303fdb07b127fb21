import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { dismiss, requestResend } from '../../src/submissions/operator-changes.ts';
import { restoreProgress, setNote, setProgress } from '../../src/submissions/progress.ts';
import { databases } from '../support/databases.ts';
import { allRows, keepRows, submissionRow } from '../support/submissions.ts';
import { answering } from '../support/upstream.ts';
import { ada, type Rig, startRig } from './rig.ts';

const UNKNOWN = '00000000-0000-7000-8000-ffffffffffff';

describe.each(databases)('progress and note on %s', (_name, create) => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await startRig(await create());
  });
  beforeEach(() => rig.clear());
  afterEach(() => rig.settled());
  afterAll(() => rig.end());

  const mark = (ids: string[], progress: 'new' | 'answered' | 'won' | 'lost' | 'spam', keepsContent = true) =>
    rig.storage.write((tx) => setProgress(rig.storage, tx, ids, { progress, keepsContent }));
  const keep = async (...given: Parameters<typeof submissionRow>) => {
    const row = submissionRow(...given);
    await keepRows(rig.storage, [row]);
    return row;
  };

  /** Makes the upstream answer only after `go`. `arrived` resolves with the first request. */
  function stall(status: number) {
    const arrived = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    rig.receiver.answer = (response) => {
      arrived.resolve();
      void go.promise.then(() => answering(status)(response));
    };
    return { arrived: arrived.promise, go: go.resolve };
  }

  test('setProgress changes only the progress, and returns the previous values in the order of the ids', async () => {
    const rows = [await keep({ progress: 'won' }), await keep({ status: 'undelivered' })];
    const ids = rows.map(({ id }) => id).sort();
    const { changed, dismissed } = await mark([...ids].reverse(), 'answered');
    expect(changed.map(({ id }) => id)).toEqual(ids);
    expect(new Map(changed.map(({ id, progress }) => [id, progress]))).toEqual(
      new Map(rows.map(({ id, progress }) => [id, progress])),
    );
    expect(dismissed).toBe(0);
    const expected = rows.map((row) => ({ ...row, progress: 'answered' }));
    expect(await allRows(rig.storage)).toEqual(expected.sort((one, other) => (one.id < other.id ? -1 : 1)));
  });

  test('setProgress includes a submission that has the progress already, and omits an unknown id', async () => {
    const { id } = await keep({ progress: 'lost' });
    expect((await mark([id, UNKNOWN], 'lost')).changed).toEqual([{ id, progress: 'lost' }]);
  });

  test.each(['waiting', 'undelivered'] as const)(
    'setProgress to spam dismisses a submission that is %s',
    async (status) => {
      const { id } = await keep({
        status,
        step: status === 'waiting' ? 1 : null,
        next_attempt_ms: 9,
        resend_asked_ms: 1,
      });
      expect((await mark([id], 'spam')).dismissed).toBe(1);
      const row = await rig.row();
      expect(row).toMatchObject({ progress: 'spam', status: 'dismissed', reason: 'spam', email: 'ada@example.com' });
      expect([row.step, row.next_attempt_ms, row.resend_asked_ms]).toEqual([null, null, null]);
    },
  );

  test('setProgress to spam deletes the content at once if the settings store no content of dismissed submissions', async () => {
    const { id } = await keep({ status: 'undelivered', note: 'call' });
    await mark([id], 'spam', false);
    expect(await rig.row()).toMatchObject({ status: 'dismissed', email: null, note: null, search_text: null });
  });

  test('setProgress to spam does not change the status of a delivered submission', async () => {
    const { id } = await keep();
    expect((await mark([id], 'spam')).dismissed).toBe(0);
    expect(await rig.row()).toMatchObject({ progress: 'spam', status: 'delivered', reason: null });
  });

  test.each([
    ['no answer', 500],
    ['a rejection', 422],
  ])('setProgress to spam dismisses the submission during an attempt that ends with %s', async (_what, status) => {
    const stalled = stall(status);
    const sent = rig.send();
    await stalled.arrived;
    const { id } = await rig.row();
    expect((await mark([id], 'spam')).dismissed).toBe(1);
    stalled.go();
    await sent;
    await rig.settled();
    expect(await rig.row()).toMatchObject({ progress: 'spam', status: 'dismissed', reason: 'spam', step: null });
    await rig.redelivery.work();
    expect(rig.receiver.delivered).toHaveLength(1);
  });

  test('setProgress to spam dismisses a waiting submission during a repeated attempt without an answer', async () => {
    rig.receiver.answer = answering(500);
    await rig.send(ada);
    const stalled = stall(500);
    const sent = rig.send(ada);
    await stalled.arrived;
    await mark([(await rig.row()).id], 'spam');
    stalled.go();
    await sent;
    expect(await rig.row()).toMatchObject({ status: 'dismissed', reason: 'spam', step: null, next_attempt_ms: null });
  });

  test('setProgress to spam during an attempt that is confirmed does not prevent the status delivered', async () => {
    const stalled = stall(200);
    const sent = rig.send();
    await stalled.arrived;
    await mark([(await rig.row()).id], 'spam');
    stalled.go();
    await sent;
    await rig.settled();
    expect(await rig.row()).toMatchObject({ progress: 'spam', status: 'delivered', reason: null });
  });

  test('restoreProgress changes only the progress, and only of submissions that nobody changed meanwhile', async () => {
    const [one, two] = [await keep({ status: 'undelivered' }), await keep({ progress: 'won' })];
    const { changed } = await mark([one.id, two.id], 'spam');
    await mark([two.id], 'lost');
    const restored = await rig.storage.write((tx) => restoreProgress(tx, { to: 'spam', previous: changed }));
    expect(restored).toEqual([one.id]);
    const rows = new Map((await rig.rows()).map((row) => [row.id, row]));
    expect(rows.get(one.id)).toMatchObject({ progress: 'new', status: 'dismissed', reason: 'spam' });
    expect(rows.get(two.id)).toMatchObject({ progress: 'lost' });
  });

  test.each([
    [200, { status: 'delivered', reason: null }],
    [500, { status: 'undelivered', reason: null }],
    [422, { status: 'undelivered', reason: 'rejected' }],
  ])('a dismissed submission that is resent and answered with %i becomes %o', async (status, expected) => {
    const { id } = await keep({ status: 'dismissed', reason: 'spam', progress: 'spam' });
    rig.receiver.answer = answering(status);
    await rig.storage.write((tx) => requestResend(rig.storage, tx, id));
    await rig.redelivery.work();
    expect(await rig.row()).toMatchObject({ ...expected, progress: 'spam', resend_asked_ms: null });
    expect(rig.receiver.delivered).toHaveLength(1);
  });

  test('a submission that was sent unstored is never resent after a dismissal', async () => {
    const ids = [];
    for (const how of ['spam', 'dismiss'] as const) {
      const { id } = await keep({ status: 'undelivered', reason: 'sent_unkept' });
      if (how === 'spam') await mark([id], 'spam');
      else {
        await rig.storage.write((tx) => dismiss(rig.storage, tx, id, { reason: 'other', keepsContent: true }));
      }
      ids.push(id);
    }
    for (const id of ids) {
      const refused = await rig.storage.write((tx) => requestResend(rig.storage, tx, id));
      expect(refused).toEqual({ kind: 'refused', why: 'sentUnkept' });
    }
    expect((await rig.rows()).map(({ status }) => status)).toEqual(['dismissed', 'dismissed']);
  });

  test('setNote sets and removes a note, and refuses a submission without content', async () => {
    const { id } = await keep();
    expect(await rig.storage.write((tx) => setNote(tx, id, 'Call at 5'))).toBe(true);
    expect((await rig.row()).note).toBe('Call at 5');
    expect(await rig.storage.write((tx) => setNote(tx, id, null))).toBe(true);
    expect((await rig.row()).note).toBeNull();
    await rig.change({ email: null });
    expect(await rig.storage.write((tx) => setNote(tx, id, 'x'))).toBe(false);
    expect(await rig.storage.write((tx) => setNote(tx, UNKNOWN, 'x'))).toBe(false);
  });
});
