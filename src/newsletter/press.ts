/**
 * Confirming and leaving (beyond §6). Each is one conditional update; its event is a submission of its own, kept in
 * the same commit and attempted at once, beside the answer: neither link waits for the upstream. Where this process
 * dies in between, recovery finds its lease run out, and redelivery has it.
 */
import type { NewId } from '../chance.ts';
import { type Clock, isoTime } from '../clock.ts';
import { forms } from '../forms/catalog.ts';
import type { Log } from '../operations/log.ts';
import type { Metrics } from '../operations/metrics.ts';
import { openUnderWay } from '../operations/under-way.ts';
import type { OpenTransaction, Storage } from '../storage/database.ts';
import type { SubscriberRow } from '../storage/subscriber-schema.ts';
import { firstOf } from '../submissions/keep.ts';
import type { Taken } from '../submissions/settling.ts';
import { eventOf, lookedFor, type Submission } from '../submissions/submission.ts';
import type { Kept } from '../submissions/submission-queries.ts';
import type { Submissions } from '../submissions/submissions.ts';
import type { Attempted } from '../submissions/submit.ts';
import { momentAfter } from './moment.ts';
import { subscriberById } from './subscriber-queries.ts';
import type { Subscribers } from './subscribers.ts';

export type PressParts = {
  storage: Storage;
  clock: Clock;
  newId: NewId;
  log: Log;
  metrics: Pick<Metrics, 'countSubscriber'>;
  subscribers: Subscribers;
  submissions: Submissions;
};

export type Presses = {
  /** Confirms by the token of that link; whatever it is, and however often. Throws `StorageUnavailable`. */
  confirm(token: string): Promise<void>;
  /** The same of leaving. */
  leave(token: string): Promise<void>;
  /** Waits for the events under way. */
  close(): Promise<void>;
};

type To = 'confirmed' | 'unsubscribed';

/** Opens what the two links do. */
export function openPresses(parts: PressParts): Presses {
  const { storage, clock, newId, log, metrics, subscribers, submissions } = parts;
  const { queries } = subscribers;
  const underWay = openUnderWay<Promise<void>>();

  async function press(to: To, token: string): Promise<void> {
    const { findByConfirmToken, findByLeaveToken } = subscribers;
    const seen = await (to === 'confirmed' ? findByConfirmToken : findByLeaveToken)(token);
    // What does nothing waits for no writer: a link that is dead takes as long as one that never was.
    if (seen === undefined || seen.status === to || seen.status === 'unsubscribed') return;
    // As everybody who takes a row: first what is known of others.
    if (submissions.isBehind()) await submissions.resolve();
    const pressing = { to, token, subscriberId: seen.id, eventId: newId() };
    const takenAt = clock.monotonic();
    const pressed = await storage.write((tx) => change(tx, pressing));
    if (pressed === undefined) return;
    metrics.countSubscriber(to);
    log.info(
      { subscriberId: pressed.id, submissionId: pressed.event?.id, to },
      'a subscriber pressed',
    );
    if (pressed.event !== undefined) follow(send(firstOf(pressed.event, takenAt)));
  }

  /** The state and its event, or neither. */
  async function change(
    tx: OpenTransaction,
    {
      to,
      token,
      subscriberId,
      eventId,
    }: { to: To; token: string; subscriberId: string; eventId: string },
  ) {
    // Held first: who presses the other link, or subscribes, at another instance comes before, or after.
    const before = await subscriberById(tx, subscriberId)
      .$call(storage.dialect.forUpdate)
      .executeTakeFirst();
    if (before === undefined) return undefined;
    const now = isoTime(clock.now().getTime());
    const at = await momentAfter(tx, before, now);
    const update = to === 'confirmed' ? queries.confirm : queries.leave;
    if ((await tx.change(update({ token, now, at }))) === 0) return undefined;
    // With the embedded inbox there is nobody to tell.
    if (submissions.options.upstream?.embedded) return { id: before.id, event: undefined };
    const row = await subscriberById(tx, subscriberId).executeTakeFirstOrThrow();
    const event = keptOf(row, to, eventId, at);
    await tx.change(submissions.queries.keep(event));
    return { id: row.id, event };
  }

  function keptOf(row: SubscriberRow, to: To, id: string, at: string): Kept {
    const { email, contractor, confirmed_at, unsubscribed_at } = row;
    const fields = { email, contractor };
    const submission: Submission = {
      id,
      form: forms.newsletter,
      fields,
      origin: 'browser',
      client: null,
      consentRecordedAt: row.consent_recorded_at,
      subscriber: {
        id: row.id,
        event: `subscriber.${to}`,
        data: { ...subscribers.dataOf(row), confirmed_at, unsubscribed_at },
      },
    };
    return {
      id,
      form: submission.form.name,
      ...lookedFor(fields),
      event: eventOf(submission, undefined, at).body,
      // Nobody sends it a second time.
      fields_digest: null,
      subscriber_id: row.id,
    };
  }

  /** Never throws: what could not be written is repeated, or found by recovery. */
  async function send(taken: Taken): Promise<void> {
    const { upstream } = submissions.options;
    const made = upstream === undefined ? nobodyToTell(clock) : await submissions.attempt(taken);
    try {
      await submissions.settle(taken, made);
    } catch (error) {
      log.error({ submissionId: taken.id, err: error }, 'the end of an attempt has to wait');
    }
  }

  function follow(sending: Promise<void>): void {
    const over = underWay.add(sending);
    void sending.finally(over);
  }

  return {
    confirm: (token) => press('confirmed', token),
    leave: (token) => press('unsubscribed', token),
    async close() {
      await Promise.all(underWay.all());
    },
  };
}

/** While submissions are not configured the event waits, as all others do. */
function nobodyToTell(clock: Clock): Attempted {
  const at = isoTime(clock.now().getTime());
  return {
    outcome: { kind: 'unconfirmed', reason: 'No upstream is configured.', unsent: true },
    attempt: { at, ms: 0, outcome: 'unconfirmed', by: 'first' },
  };
}
