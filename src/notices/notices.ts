/**
 * Notices: e-mails about submissions (reference §11.5, `NOTIFY_EMAIL`, `CONTRACTOR_EMAIL`). The commit of a submission
 * adds its notices and waits for no lock. The operator's notice is a `new` row. Before the outbox sends it, one instance
 * applies the hourly limit (`throttle.ts`). The contractor's notice has no such limit.
 */
import type { Expression, ExpressionBuilder, SqlBool } from 'kysely';
import { findForm } from '../forms/catalog.ts';
import { prepareMessage } from '../mail/messages.ts';
import type { Clock } from '../platform/clock.ts';
import type { NewId } from '../platform/random.ts';
import type { Change, OpenTransaction, Storage } from '../storage/database.ts';
import { prepareRead } from '../storage/queries.ts';
import type { Schema } from '../storage/schema.ts';
import { changeHour, hasEnded, throttleNotices } from './throttle.ts';

/** Number of rows in one commit. */
const BATCH_ROWS = 200;

export type NoticeSubject = { id: string; form: string; origin: 'browser' | 'agent' };

export type Notices = {
  /**
   * Returns the changes that queue notices, for the transaction that ends a browser's first attempt or settles an
   * execution as `submitted`. A browser's subscription has no notice. The contractor gets notices of their forms.
   */
  of(submission: NoticeSubject): Change[];
  /**
   * Applies the hourly limit to new notices. After the hour, queues a summary of the notices that were not sent. Throws
   * `StorageUnavailable`.
   */
  throttle(): Promise<void>;
};

/** Used if neither `NOTIFY_EMAIL` nor `CONTRACTOR_EMAIL` is set. */
export const noNotices: Notices = { of: () => [], throttle: async () => {} };

type NoticeParts = {
  storage: Storage;
  clock: Clock;
  newId: NewId;
  /** The part of each `Message-ID` after the `@`. */
  hostname: string;
  /** Receivers whose address is set. */
  receivers: { operator: boolean; contractor: boolean };
};

export function openNotices({ storage, clock, newId, hostname, receivers }: NoticeParts): Notices {
  const add = prepareMessage(storage);
  const newMessage = () => ({ message_id: `<${newId()}@${hostname}>`, now: clock.now().toISOString() });
  const firstNew = prepareRead(storage, (db) =>
    db.selectFrom('messages').select('key').where('status', '=', 'new').limit(1),
  );
  const currentHour = prepareRead(storage, (db) =>
    db.selectFrom('mail_hours').select('began_at').where('kind', '=', 'notice'),
  );

  async function isAnythingToDo(): Promise<boolean> {
    const [found] = await storage.read(firstNew({}));
    if (found !== undefined) return true;
    const [hour] = await storage.read(currentHour({}));
    return hasEnded(hour?.began_at ?? null, clock.now());
  }

  /** Applies the limit to one batch of notices. Returns true if more new notices remain. */
  async function throttleBatch(tx: OpenTransaction): Promise<boolean> {
    let isAll = true;
    // If another instance has locked the hour, the other instance does the work.
    await changeHour(storage, tx, 'notice', async (before) => {
      const rows = await tx
        .selectFrom('messages')
        .select(['key', 'about', 'requested_at'])
        .where('status', '=', 'new')
        .orderBy('next_attempt_at')
        .limit(BATCH_ROWS)
        .execute();
      isAll = rows.length < BATCH_ROWS;
      const notices = rows.map(({ about, ...rest }) => ({ ...rest, form: about ?? '' }));
      const { hour, send, count, summaries } = throttleNotices(before, notices, clock.now(), isAll);
      if (send.length > 0) {
        await tx
          .updateTable('messages')
          .set({ status: 'pending' })
          .where('kind', '=', 'notice')
          .where('key', 'in', send)
          .execute();
      }
      if (count.length > 0) {
        await tx.deleteFrom('messages').where('kind', '=', 'notice').where('key', 'in', count).execute();
      }
      for (const { began_at: key, counted } of summaries) {
        const about = JSON.stringify(counted);
        await tx.change(add({ ...newMessage(), kind: 'notice_summary', key, about, status: 'pending' }));
      }
      return hour;
    });
    return !isAll;
  }

  return {
    of({ id, form, origin }) {
      const { event, receivedBy } = findForm(form) ?? {};
      if (origin === 'browser' && event === 'subscriber.created') return [];
      const changes: Change[] = [];
      if (receivers.operator) {
        changes.push(add({ ...newMessage(), kind: 'notice', key: id, about: form, status: 'new' }));
      }
      if (receivers.contractor && receivedBy === 'contractor') {
        changes.push(add({ ...newMessage(), kind: 'contractor_notice', key: id, about: null, status: 'pending' }));
      }
      return changes;
    },
    async throttle() {
      if (!receivers.operator) return;
      while (await isAnythingToDo()) {
        if (!(await storage.write(throttleBatch))) return;
      }
    },
  };
}

/**
 * Returns the condition that a notice of a submission is not sent yet. Until it is sent, the notice needs the
 * submission's content (reference §19.6, "Retention").
 */
export function noticeIsOpen(row: ExpressionBuilder<Schema, 'submissions'>): Expression<SqlBool> {
  return row.exists(
    row
      .selectFrom('messages')
      .select('key')
      .where('kind', 'in', ['notice', 'contractor_notice'])
      .whereRef('key', '=', 'submissions.id')
      .where('status', 'in', ['new', 'pending']),
  );
}
