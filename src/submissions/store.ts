/** What becomes of a browser's submission, and how the embedded inbox takes one (beyond §1). */
import { isoTime } from '../clock.ts';
import { StorageUnavailable } from '../storage/database.ts';
import type { Outcome } from '../upstream/upstream.ts';
import { lineOf } from './attempts.ts';
import type { Ended } from './settling.ts';
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

/** The embedded inbox: the commit that keeps it delivers it, and one row is kept for a subscriber. */
export async function store(submissions: Submissions, kept: Kept): Promise<Accepted> {
  const { storage, clock, metrics, alongside, afterwards } = submissions.options;
  const { id, form, email, event } = kept;
  const startedAt = clock.monotonic();
  const at = isoTime(clock.now().getTime());
  const line = lineOf({ at, ms: 0, outcome: 'confirmed', by: 'first' });
  const subscriber = form === 'newsletter' ? email : null;
  const change = submissions.queries.store({ ...kept, subscriber, line });
  const ended: Ended = {
    id,
    form,
    email,
    event,
    by: 'first',
    outcome: { kind: 'confirmed', known: false },
    next: { kind: 'delivered' },
  };
  const messages = alongside?.(ended) ?? [];
  try {
    const count = await storage.write(
      messages.length === 0
        ? change
        : async (tx) => {
            const stored = await tx.change(change);
            if (stored > 0) for (const message of messages) await tx.change(message);
            return stored;
          },
    );
    metrics.countAttempt('confirmed', 'first');
    if (count > 0) afterwards?.(ended);
    const outcome = { kind: 'confirmed', known: count === 0 } as const;
    return { reference: id, outcome, standing: 'delivered', answeredAt: startedAt };
  } catch (error) {
    if (!(error instanceof StorageUnavailable)) throw error;
    metrics.countAttempt('unconfirmed', 'first');
    const outcome = { kind: 'unconfirmed', reason: 'The inbox could not be written.' } as const;
    return { reference: id, outcome, standing: 'unkept', answeredAt: clock.monotonic() };
  }
}
