/** The one way out to the upstream: what is kept goes in, an attempt and its outcome come out. */
import { type Clock, isoTime } from '../clock.ts';
import type { Metrics } from '../operations/metrics.ts';
import type { AttemptBy } from '../storage/schema.ts';
import type { Delivery, Outcome, RemoteUpstream, Sent } from '../upstream/upstream.ts';
import type { Attempt } from './attempts.ts';

export type SubmitParts = {
  upstream: RemoteUpstream;
  clock: Clock;
  metrics: Pick<Metrics, 'countAttempt'>;
};

/** An attempt that was made: how it is listed, and all that is known of its end. */
export type Attempted = { outcome: Outcome; attempt: Attempt };

/** Takes what leaves, how its delivery may happen and why it is attempted. Never throws. */
export async function submit(
  { upstream, clock, metrics }: SubmitParts,
  sent: Sent,
  delivery: Delivery,
  by: AttemptBy,
): Promise<Attempted> {
  const at = isoTime(clock.now().getTime());
  const startedAt = clock.monotonic();
  const outcome = await upstream.deliver(sent, delivery);
  metrics.countAttempt(outcome.kind, by);
  return { outcome, attempt: { at, ms: clock.monotonic() - startedAt, outcome: outcome.kind, by } };
}
