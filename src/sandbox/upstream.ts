/** The upstream of sandbox clients. It sends nothing, and the e-mail address decides each outcome (reference §27.4). */
import type { Clock } from '../platform/clock.ts';
import type { Event, Outcome, RemoteUpstream } from '../upstream/upstream.ts';
import { type OutcomeTag, outcomeTagOf } from './tags.ts';

const SLOW_MS = 5_000;

/** Time within which a delivery ends, in milliseconds. The lease of an execution depends on it. */
export const SANDBOX_TIMEOUT_MS = SLOW_MS + 1_000;

const SUBMITTED: Outcome = { kind: 'confirmed', known: false };

const outcomes: Record<OutcomeTag, Outcome> = {
  rejected: { kind: 'rejected', status: 422 },
  limited: { kind: 'rateLimited', retryAfterSeconds: 30, status: 429 },
  unconfirmed: { kind: 'unconfirmed', reason: 'The address of this test asks for it.' },
  slow: SUBMITTED,
};

/** Returns the upstream. */
export function openSandboxUpstream({ clock }: { clock: Clock }): RemoteUpstream {
  return {
    embedded: false,
    deliver: async ({ body }, { mayStart }) => {
      if (!mayStart()) return { kind: 'unconfirmed', reason: 'The lease left no time to send.', unsent: true };
      const tag = outcomeTagOf((JSON.parse(body) as Event).data.fields.email ?? '');
      if (tag === undefined) return SUBMITTED;
      if (tag === 'slow') await clock.sleep(SLOW_MS);
      return outcomes[tag];
    },
    close: async () => {},
  };
}
