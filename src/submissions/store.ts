/** What becomes of a browser's submission, and how the embedded inbox takes one (beyond §1). */
import { isoTime } from '../clock.ts';
import { StorageUnavailable } from '../storage/database.ts';
import type { Outcome } from '../upstream/upstream.ts';
import { lineOf } from './attempts.ts';
import type { Completing } from './keep.ts';
import { type Ended, writeAlongside } from './settling.ts';
import type { Kept } from './submission-queries.ts';
import type { Submissions } from './submissions.ts';

export type Accepted = {
  /** The id under which it is kept, or was sent unkept: the person's reference. */
  reference: string;
  outcome: Outcome | { kind: 'unknown' };
  /** `kept`: it will be passed on; `left`: the operator has it, and nothing more happens by itself. */
  standing: 'delivered' | 'kept' | 'left' | 'unkept';
  /** When the upstream had answered, on the monotonic clock. */
  answeredAt: number;
};

/**
 * The embedded inbox: the commit that keeps it delivers it, and one row is kept for a subscriber. Throws
 * `StorageUnavailable` where something is to be completed in that commit.
 */
export async function store(
  submissions: Submissions,
  kept: Kept,
  complete?: Completing,
): Promise<Accepted> {
  const { clock, metrics, afterwards } = submissions.options;
  const { id } = kept;
  const startedAt = clock.monotonic();
  try {
    const ended = await write(submissions, kept, complete);
    metrics.countAttempt('confirmed', 'first');
    if (!ended.outcome.known) afterwards?.(ended);
    return { reference: id, outcome: ended.outcome, standing: 'delivered', answeredAt: startedAt };
  } catch (error) {
    if (!(error instanceof StorageUnavailable)) throw error;
    metrics.countAttempt('unconfirmed', 'first');
    if (complete !== undefined) throw error;
    const outcome = { kind: 'unconfirmed', reason: 'The inbox could not be written.' } as const;
    return { reference: id, outcome, standing: 'unkept', answeredAt: clock.monotonic() };
  }
}

type Stored = Ended & { outcome: { kind: 'confirmed'; known: boolean } };

/** Writes the row, and what goes with it; `known`: the subscriber was on the list already. */
async function write(
  { options, queries }: Submissions,
  kept: Kept,
  complete: Completing | undefined,
): Promise<Stored> {
  const { storage, clock, alongside = () => [] } = options;
  const at = isoTime(clock.now().getTime());
  const line = lineOf({ at, ms: 0, outcome: 'confirmed', by: 'first' });
  const change = (of: Kept) =>
    queries.store({ ...of, subscriber: of.form === 'newsletter' ? of.email : null, line });
  const endedOf = ({ id, form, email, event, subscriber_id }: Kept, stored: number): Stored => ({
    ...{ id, form, email, event, subscriber_id },
    by: 'first',
    outcome: { kind: 'confirmed', known: stored === 0 },
    next: { kind: 'delivered' },
  });
  // One statement needs no transaction, and most leads are that.
  if (complete === undefined && alongside(endedOf(kept, 1)).length === 0) {
    return endedOf(kept, await storage.write(change(kept)));
  }
  return await storage.write(async (tx) => {
    const whole = complete === undefined ? kept : await complete(tx);
    const ended = endedOf(whole, await tx.change(change(whole)));
    await writeAlongside(tx, alongside(ended));
    return ended;
  });
}
