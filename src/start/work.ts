/** What works by itself: begun with the start, ended beside the last requests of a drain. */
import type { Recovery } from '../actions/recovery.ts';
import type { Outbox } from '../mail/outbox.ts';
import type { Alerts } from '../notices/alerts.ts';
import { once } from '../once.ts';
import type { Redelivery } from '../submissions/redelivery.ts';
import { type LeftForLater, workAfterStart } from './after-start.ts';

/** Works from its start to its close. */
type Sweep = { start(): void; close(): Promise<void> };

type Working = LeftForLater & {
  recovery: Recovery;
  redelivery: Redelivery;
  /** Of receipts, of submissions: whatever goes by its age. */
  retentions: readonly Sweep[];
  outbox: Outbox | undefined;
  alerts: Pick<Alerts, 'start' | 'close'>;
};

/**
 * Begins it; what is returned ends it and waits for what is under way. Recovery goes on beside the last
 * requests: whoever closes the store closes it first.
 */
export function startWork(working: Working): () => Promise<void> {
  const { recovery, redelivery, retentions, outbox, alerts } = working;
  recovery.start();
  redelivery.start();
  for (const retention of retentions) retention.start();
  outbox?.start();
  alerts.start();
  const callOffTheRest = workAfterStart(working);
  return once(async () => {
    callOffTheRest();
    const sweeps = [redelivery, ...retentions, alerts];
    await Promise.all([...sweeps.map((sweep) => sweep.close()), outbox?.close()]);
  });
}
