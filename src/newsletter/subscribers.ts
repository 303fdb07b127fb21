/**
 * The life of a subscription to the newsletter (beyond §6): `pending`, then `confirmed`, then `unsubscribed`.
 *
 * 1. A row stands for an address. It is inserted, or found and renewed, in the commit that keeps the submission,
 *    before that leaves; the commit that ends the attempt adds the message.
 * 2. The links of a row stay the same over leaving and coming back, and are known to whoever had the message or
 *    the events. A link is dead once the seven days of a pending row are over, whenever the row goes.
 * 3. Confirming and leaving are one conditional update each, and its event is a submission that is kept in the
 *    same commit: so there is one for each, and redelivery has it where this process dies (`press.ts`).
 */
import type { NewId } from '../chance.ts';
import type { Clock } from '../clock.ts';
import { bounds } from '../forms/bounds.ts';
import type { Outbox } from '../mail/outbox.ts';
import { pathTo, routes } from '../routes.ts';
import type { OpenTransaction, Storage } from '../storage/database.ts';
import type { SubscriberRow } from '../storage/subscriber-schema.ts';
import type { Joining } from '../submissions/accept.ts';
import type { Alongside, Ended } from '../submissions/settling.ts';
import { isSubscription, type Submission } from '../submissions/submission.ts';
import type { SubscriberData } from '../upstream/upstream.ts';
import { momentAfter } from './moment.ts';
import {
  prepareSubscriberQueries,
  subscriberByEmail,
  subscriberById,
} from './subscriber-queries.ts';

const LIFETIME_MS = bounds.subscriptionLifetimeDays * 86_400_000;

/** 128 random bits, base64url. */
export const TOKEN_BYTES = 16;
/** Whether it can be one of ours. */
const TOKEN = /^[A-Za-z0-9_-]{22}$/;

const NEVER = { consent_recorded_at: '', confirmed_at: null, unsubscribed_at: null };

export type SubscribersParts = {
  storage: Storage;
  clock: Clock;
  newId: NewId;
  /** 128 bits that nobody can guess, as base64url. */
  newToken(): string;
  /** Without a trailing slash. */
  baseUrl: string;
};

export type Subscribers = {
  queries: ReturnType<typeof prepareSubscriberQueries>;
  /** What a subscription writes in the commit that keeps it. */
  join(submission: Submission): Joining;
  /** The message, in the commit that ends an attempt; nothing where another submission has ended. */
  messageOf(ended: Ended, outbox: Pick<Outbox, 'messageTo'>): readonly Alongside[];
  /** Who is to be asked whether they meant it; undefined where nobody with this address is. */
  findAsked(email: string): Promise<SubscriberRow | undefined>;
  /** By what the address of the page ends with; undefined where the link is dead. */
  findByConfirmToken(token: string): Promise<SubscriberRow | undefined>;
  findByLeaveToken(token: string): Promise<SubscriberRow | undefined>;
  /** What an event says of a row. */
  dataOf(row: Pick<SubscriberRow, 'status' | 'leave_token'>): SubscriberData;
};

/** Its functions throw `StorageUnavailable`. */
export function openSubscribers(parts: SubscribersParts): Subscribers {
  const { storage, clock, newId, newToken, baseUrl } = parts;
  const queries = prepareSubscriberQueries(storage);

  const isAlive = ({ expires_at }: SubscriberRow) =>
    expires_at === null || clock.now().toISOString() < expires_at;

  async function findBy(find: typeof queries.byLeaveToken, token: string) {
    if (!TOKEN.test(token)) return undefined;
    const [row] = await storage.read(find({ token }));
    return row !== undefined && isAlive(row) ? row : undefined;
  }

  const dataOf: Subscribers['dataOf'] = ({ status, leave_token }) => ({
    status,
    unsubscribe_url: `${baseUrl}${pathTo(routes.leavePage, { token: leave_token })}`,
  });

  return {
    queries,
    dataOf,

    join(submission) {
      const { email = '', contractor = '' } = submission.fields;
      const now = clock.now();
      const subscribed = {
        id: newId(),
        email,
        contractor,
        made_by: submission.id,
        confirm_token: newToken(),
        leave_token: newToken(),
        consent_recorded_at: submission.consentRecordedAt ?? now.toISOString(),
        now: now.toISOString(),
        expires_at: new Date(now.getTime() + LIFETIME_MS).toISOString(),
      };
      return async (tx) => {
        // A commit whose outcome was unknown, tried again: whoever has left meanwhile is not brought back by it.
        const kept = await tx
          .selectFrom('submissions')
          .select('id')
          .where('id', '=', submission.id)
          .executeTakeFirst();
        let at = subscribed.now;
        if (kept === undefined) {
          const before = await subscriberByEmail(tx, email)
            .$call(storage.dialect.forUpdate)
            .executeTakeFirst();
          // Nobody was told anything of a stranger. It is asked all the same: they take as long as members.
          at = await momentAfter(tx, before ?? { ...NEVER, id: subscribed.id }, at);
          await tx.change(queries.subscribe(subscribed));
        }
        const row = await subscriberByEmail(tx, email).executeTakeFirstOrThrow();
        const subscriber = { id: row.id, event: 'subscriber.created', data: dataOf(row) } as const;
        return { submission: { ...submission, subscriber }, at };
      };
    },

    messageOf({ id, event, subscriber_id, by, outcome }, outbox) {
      const hasArrived = outcome.kind === 'confirmed';
      if (subscriber_id === null || !hasArrived || !isSubscription(event)) return [];
      const addMessage = async (tx: OpenTransaction) => {
        const row = await subscriberById(tx, subscriber_id).executeTakeFirst();
        if (row?.status !== 'pending') return;
        // On the list before there was a row; a later attempt may have met what our own first one left there.
        if (outcome.known && by === 'first' && row.made_by === id) return;
        await tx.change(outbox.messageTo(row.email));
      };
      return [addMessage];
    },

    async findAsked(email) {
      const [row] = await storage.read(queries.byEmail({ email }));
      return row?.status === 'pending' && isAlive(row) ? row : undefined;
    },

    findByConfirmToken: (token) => findBy(queries.byConfirmToken, token),
    findByLeaveToken: (token) => findBy(queries.byLeaveToken, token),
  };
}
