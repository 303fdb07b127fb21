/** A browser's submission, from the commit that keeps it to what its person is told (beyond §1). */
import { isoTime } from '../clock.ts';
import { type OpenTransaction, StorageUnavailable } from '../storage/database.ts';
import type { SubmissionRow } from '../storage/schema.ts';
import { attemptsOf } from './attempts.ts';
import {
  type Completing,
  firstOf,
  type Keeping,
  keep,
  TRY_AGAIN_MS,
  WITHIN_MS,
  within,
} from './keep.ts';
import type { Parties } from './recipient.ts';
import { nextOf } from './schedule.ts';
import type { Taken } from './settling.ts';
import { type Accepted, store } from './store.ts';
import { digestOfFields, eventOf, lookedFor, type Submission } from './submission.ts';
import type { Kept } from './submission-queries.ts';
import type { Submissions } from './submissions.ts';

/** How often it is looked whether another's attempt has ended. */
const LOOK_EVERY_MS = 200;

/** It has arrived, by whatever attempt. */
const DELIVERED = {
  outcome: { kind: 'confirmed', known: false },
  standing: 'delivered',
} as const;

/** What a subscription writes in the commit that keeps it; returns the submission with what its event says, and when. */
export type Joining = (tx: OpenTransaction) => Promise<{ submission: Submission; at: string }>;

/**
 * Takes a valid submission and the caller's trace; returns what became of it. Never throws: where the store is
 * away, it is sent unkept. One that joins is not: that throws `StorageUnavailable` (beyond §6).
 */
export async function accept(
  submissions: Submissions,
  parties: Parties,
  submission: Submission,
  traceparent: string | undefined,
  join?: Joining,
): Promise<Accepted> {
  const { clock, upstream, log } = submissions.options;
  const now = isoTime(clock.now().getTime());
  const keptOf = (whole: Submission, at: string): Kept => ({
    id: whole.id,
    form: whole.form.name,
    ...lookedFor(whole.fields),
    event: eventOf(whole, parties, at).body,
    fields_digest: digestOfFields(whole),
    subscriber_id: whole.subscriber?.id ?? null,
  });
  const kept = keptOf(submission, now);
  const complete: Completing | undefined =
    join &&
    (async (tx) => {
      const joined = await join(tx);
      return keptOf(joined.submission, joined.at);
    });
  if (upstream?.embedded) return await store(submissions, kept, complete);

  for (;;) {
    const call: Keeping = { calledOff: false };
    const keeping = keep(submissions, kept, call, complete);
    const begun = await within(clock, keeping);
    if (begun === undefined) {
      call.calledOff = true;
      if (join !== undefined) throw new StorageUnavailable('A subscription could not be kept.');
      log.error({ submissionId: kept.id }, 'the store is away: a submission is forwarded unkept');
      const sent = await sendUnkept(submissions, kept, call, traceparent);
      // Its row may be there: should this process die, another sends it.
      const mayArrive = call.commit !== undefined && 'unsent' in sent.outcome;
      return mayArrive ? { ...sent, outcome: { kind: 'unknown' } } : sent;
    }
    if (begun.kind === 'kept') return await attempt(submissions, begun.taken, traceparent);
    if (begun.row.id === kept.id && hasEnded(begun.row)) {
      // It is this very one, and has ended: dismissed, say, while this process was stopped.
      const ended = standingOf(begun.row, { kind: 'unknown' });
      return { reference: kept.id, answeredAt: clock.monotonic(), ...ended };
    }
    const answered = await sendAgain(submissions, begun.row, traceparent, join);
    if (answered !== undefined) return answered;
  }
}

/** A lead that has arrived is answered at once; whatever else there is to say is said once it is written. */
async function attempt(
  submissions: Submissions,
  taken: Taken,
  traceparent: string | undefined,
): Promise<Accepted> {
  const { clock, log, redelivery } = submissions.options;
  const { outcome, attempt } = await submissions.attempt(taken, traceparent);
  const answeredAt = clock.monotonic();
  const settling = submissions.settle(taken, { outcome, attempt }).catch((error: unknown) => {
    log.error({ submissionId: taken.id, err: error }, 'the end of an attempt has to wait');
  });
  const answer = { reference: taken.id, outcome, answeredAt };
  if (outcome.kind === 'confirmed') {
    if (taken.form === 'newsletter') await within(clock, settling);
    return { ...answer, standing: 'delivered' };
  }
  const ended = await within(clock, settling);
  const isOvertaken = ended?.kind === 'overtaken';
  if (isOvertaken) {
    const row = await within(clock, look(submissions, taken.id));
    if (row !== undefined) return { ...answer, ...standingOf(row, outcome) };
  }
  // Where its end is not written yet, it is said as it will be: whoever overtakes an attempt ends it as unknown.
  const written = isOvertaken ? ({ kind: 'unknown' } as const) : outcome;
  const { attempt_by: by, resumed_status: resumedStatus, step } = taken;
  const next = nextOf({ by, resumedStatus, step }, written, redelivery);
  return { ...answer, standing: next.kind === 'undelivered' ? 'left' : 'kept' };
}

/**
 * The same was sent before and did not arrive: that row is attempted at once, or its attempt under way is waited
 * for. Undefined where it has ended meanwhile, or is gone.
 */
async function sendAgain(
  submissions: Submissions,
  row: SubmissionRow,
  traceparent: string | undefined,
  join: Joining | undefined,
): Promise<Accepted | undefined> {
  try {
    if (join !== undefined) await submissions.options.storage.write(join);
    if (row.status !== 'sending') {
      const taken = await submissions.take(row, 'person');
      return taken && (await attempt(submissions, taken, traceparent));
    }
    return await endOf(submissions, row);
  } catch (error) {
    if (!(error instanceof StorageUnavailable)) throw error;
    // Neither written nor read: it is said as it was read last.
    const answeredAt = submissions.options.clock.monotonic();
    return { reference: row.id, outcome: { kind: 'unknown' }, standing: 'kept', answeredAt };
  }
}

/** Looks again and again, until the attempt under way has ended. Throws `StorageUnavailable`. */
async function endOf(submissions: Submissions, row: SubmissionRow): Promise<Accepted | undefined> {
  const { clock } = submissions.options;
  for (;;) {
    await clock.sleep(LOOK_EVERY_MS);
    const now = await look(submissions, row.id);
    if (now === undefined) return undefined;
    if (now.status === 'sending' && now.attempt_number === row.attempt_number) continue;
    const made = attemptsOf(now.attempts)[row.attempt_number - 1];
    const answer = { reference: row.id, answeredAt: clock.monotonic() };
    if (made?.outcome === 'confirmed') return { ...answer, ...DELIVERED };
    return { ...answer, ...standingOf(now, { kind: 'unknown' }) };
  }
}

/** The row as it stands; a store that is away is asked again for two seconds. Throws `StorageUnavailable`. */
async function look(
  { options: { storage, clock }, queries }: Submissions,
  id: string,
): Promise<SubmissionRow | undefined> {
  const startedAt = clock.monotonic();
  for (;;) {
    try {
      const [row] = await storage.read(queries.look({ id }));
      return row;
    } catch (error) {
      const isOver = clock.monotonic() - startedAt >= WITHIN_MS;
      if (isOver || !(error instanceof StorageUnavailable)) throw error;
      await clock.sleep(TRY_AGAIN_MS);
    }
  }
}

const hasEnded = ({ status }: SubmissionRow) => status !== 'sending' && status !== 'waiting';

/** What is said of a row as it stands, after an attempt that was not confirmed. */
function standingOf(
  { status }: SubmissionRow,
  outcome: Accepted['outcome'],
): Pick<Accepted, 'outcome' | 'standing'> {
  if (status === 'delivered') return DELIVERED;
  const isLeft = status === 'undelivered' || status === 'dismissed';
  return { outcome, standing: isLeft ? 'left' : 'kept' };
}

/** Nobody could keep it: sent all the same, once, and never again (beyond §1, "The store is away"). */
async function sendUnkept(
  submissions: Submissions,
  kept: Kept,
  { commit = Promise.resolve() }: Keeping,
  traceparent: string | undefined,
): Promise<Accepted> {
  const { clock } = submissions.options;
  const taken = firstOf(kept, clock.monotonic());
  const { outcome, attempt } = await submissions.attempt(taken, traceparent);
  // Only the commit is waited for: who tries to keep it may itself wait for this to be settled.
  submissions.settleUnkept(taken, commit, outcome, attempt);
  return { reference: kept.id, outcome, standing: 'unkept', answeredAt: clock.monotonic() };
}
