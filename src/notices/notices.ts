/**
 * Notices by mail of what came in (beyond §2, `NOTIFY_EMAIL`). A notice is one row, written by the commit that it
 * is about, and waits for nobody there; its place in an hour it gets afterwards, by whichever instance is first.
 * The hour is a row as well, so that of several instances one at a time gives places.
 */
import type { NewId } from '../chance.ts';
import type { Clock } from '../clock.ts';
import { findForm } from '../forms/catalog.ts';
import { prepareMessage } from '../mail/messages.ts';
import type { Change, OpenTransaction, Storage } from '../storage/database.ts';
import { prepareRead } from '../storage/prepare-query.ts';
import { hasEnded, type NoticeHour, place } from './notice-hour.ts';

/** One commit's worth. */
const BATCH_ROWS = 200;

/** What was submitted, by the name of its form. */
type Told = { id: string; form: string; origin: 'browser' | 'agent' };

export type Notices = {
  /**
   * The changes that tell of it, for the transaction that ends a browser's first attempt or settles an execution
   * as `submitted`. None for a browser's subscription, and none where nobody wants notices.
   */
  of(submission: Told): Change[];
  /** Gives places to those that have none, and ends an hour that is over. Throws `StorageUnavailable`. */
  place(): Promise<void>;
};

/** Where `NOTIFY_EMAIL` is not set. */
export const noNotices: Notices = { of: () => [], place: async () => {} };

/** Takes the host of the `Message-ID`s. */
export function openNotices(
  storage: Storage,
  parts: { clock: Clock; newId: NewId; hostname: string },
): Notices {
  const { clock, newId, hostname } = parts;
  const add = prepareMessage(storage);
  const newMessageId = () => `<${newId()}@${hostname}>`;
  const firstNew = prepareRead(storage, (db) =>
    db.selectFrom('messages').select('key').where('status', '=', 'new').limit(1),
  );
  const hourNow = prepareRead(storage, (db) =>
    db.selectFrom('mail_hours').select('began_at').where('kind', '=', 'notice'),
  );

  async function isAnythingToDo(): Promise<boolean> {
    const [found] = await storage.read(firstNew({}));
    if (found !== undefined) return true;
    const [hour] = await storage.read(hourNow({}));
    return hour?.began_at != null && hasEnded(hour.began_at, clock.now());
  }

  /** Returns whether there are more. */
  async function placeSome(tx: OpenTransaction): Promise<boolean> {
    const { skipLocked } = storage.dialect;
    const hours = tx.selectFrom('mail_hours').selectAll().where('kind', '=', 'notice');
    const [row] = await hours.$call(skipLocked).execute();
    // Another instance is at it.
    if (row === undefined) return false;
    const came = await tx
      .selectFrom('messages')
      .select(['key', 'about', 'requested_at'])
      .where('status', '=', 'new')
      .orderBy('next_attempt_at')
      .limit(BATCH_ROWS)
      .execute();
    const isAll = came.length < BATCH_ROWS;
    const hour: NoticeHour = { ...row, counted: JSON.parse(row.counted) };
    const unplaced = came.map(({ about, ...rest }) => ({ ...rest, form: about ?? '' }));
    const placed = place(hour, unplaced, clock.now(), isAll);
    if (placed.send.length > 0) {
      await tx
        .updateTable('messages')
        .set({ status: 'pending' })
        .where('kind', '=', 'notice')
        .where('key', 'in', placed.send)
        .execute();
    }
    if (placed.count.length > 0) {
      await tx
        .deleteFrom('messages')
        .where('kind', '=', 'notice')
        .where('key', 'in', placed.count)
        .execute();
    }
    for (const { began_at, counted } of placed.summaries) {
      await tx.change(
        add({
          kind: 'notice_summary',
          key: began_at,
          about: JSON.stringify(counted),
          message_id: newMessageId(),
          status: 'pending',
          now: clock.now().toISOString(),
        }),
      );
    }
    await tx
      .updateTable('mail_hours')
      .set({ ...placed.hour, counted: JSON.stringify(placed.hour.counted) })
      .where('kind', '=', 'notice')
      .execute();
    return !isAll;
  }

  return {
    of({ id, form, origin }) {
      const isSubscription = findForm(form)?.event === 'subscriber.created';
      if (origin === 'browser' && isSubscription) return [];
      const now = clock.now().toISOString();
      const message_id = newMessageId();
      return [add({ kind: 'notice', key: id, about: form, message_id, status: 'new', now })];
    },
    async place() {
      while (await isAnythingToDo()) {
        if (!(await storage.write(placeSome))) return;
      }
    },
  };
}
