/** What works by itself: begun with the start, ended beside the last requests of a drain. */
import type { Recovery } from '../actions/recovery.ts';
import type { Retention } from '../actions/retention.ts';
import type { Outbox } from '../mail/outbox.ts';
import { once } from '../once.ts';
import { type LeftForLater, workAfterStart } from './after-start.ts';

type Working = LeftForLater & {
  recovery: Recovery;
  retention: Retention;
  outbox: Outbox | undefined;
};

/**
 * Begins it; what is returned ends it and waits for what is under way. Recovery goes on beside the last
 * requests: whoever closes the store closes it first.
 */
export function startWork(working: Working): () => Promise<void> {
  const { recovery, retention, outbox } = working;
  recovery.start();
  retention.start();
  outbox?.start();
  const callOffTheRest = workAfterStart(working);
  return once(async () => {
    callOffTheRest();
    await Promise.all([retention.close(), outbox?.close()]);
  });
}
