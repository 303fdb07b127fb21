/**
 * Parts that take the place of the real ones for sandbox clients (reference §27). The code that serves a client is the
 * same for both kinds. Only the parts differ, and `partsFor` in `actions/execute.ts` chooses them.
 */
import { type Executions, openExecutions } from '../actions/executions.ts';
import { openMailboxes } from '../confirmations/mailbox.ts';
import { openPending } from '../confirmations/pending.ts';
import type { Clock } from '../platform/clock.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Storage } from '../storage/database.ts';
import { openSandboxUpstream, SANDBOX_TIMEOUT_MS } from './upstream.ts';

type Given = {
  storage: Storage;
  clock: Clock;
  randomSecret(bytes: number): Buffer;
  metrics: Pick<Metrics, 'countExecution' | 'countConfirmation'>;
};

/** Returns the parts. Their executions write no submission and no message. */
export function openSandbox({ storage, clock, randomSecret, metrics }: Given) {
  const pending = openPending({ storage, clock, isSandbox: true });
  const executions: Executions = openExecutions({
    storage,
    clock,
    upstreamTimeoutMs: SANDBOX_TIMEOUT_MS,
    embedded: false,
    keepsDelivered: false,
    expirePending: pending.expire,
    isSandbox: true,
  });
  return {
    executions,
    pending,
    mailboxes: openMailboxes({ storage, randomSecret, isSandbox: true }),
    upstream: openSandboxUpstream({ clock }),
    metrics: {
      countExecution: (action: string, status: string) => metrics.countExecution(action, status, true),
      countConfirmation: (...[status, times]: Parameters<Metrics['countConfirmation']>) =>
        metrics.countConfirmation(status, times, true),
      countAttempt: () => {},
    },
  };
}
