/** Reading and cancelling a confirmation, top to bottom (beyond §4): of the client's own alone. */

import { ASKED_AGAIN_AFTER_SECONDS } from '../actions/examine-preview.ts';
import type { ExecuteParts } from '../actions/execute.ts';
import type { Receipt } from '../actions/receipt.ts';
import { checkBearer } from '../credentials/check.ts';
import { scopeOf } from '../credentials/scopes.ts';
import type { ConfirmationRefusal } from '../failures/refusals.ts';
import type { Rate } from '../limits/limits.ts';
import type { Metrics } from '../operations/metrics.ts';
import {
  type Confirmation,
  type ConfirmationRecord,
  type Confirmations,
  receiptIn,
  recordOf,
} from './confirmations.ts';

export type LookParts = Pick<ExecuteParts, 'credentials' | 'executions' | 'log'> & {
  confirmations: Confirmations;
  metrics: Pick<Metrics, 'countConfirmation'>;
};

type LookRequest = {
  id: string;
  authorization: readonly string[];
  takeFromLimit(): Promise<Rate>;
};

/** The body of the answer, and when to ask again. */
type Seen = {
  kind: 'seen';
  body: { ok: true; confirmation: ConfirmationRecord; receipt?: Receipt };
  retryAfterSeconds: number | undefined;
};

/** The chain of GET. Throws `StorageUnavailable`. */
export async function look(
  parts: LookParts,
  request: LookRequest,
): Promise<Seen | ConfirmationRefusal> {
  const found = await findOwn(parts, request, Object.values(scopeOf));
  return 'kind' in found ? found : seenOf(found.confirmation);
}

/** The chain of DELETE. Throws `StorageUnavailable`. */
export async function cancel(
  parts: LookParts,
  request: LookRequest,
): Promise<Seen | ConfirmationRefusal> {
  const found = await findOwn(parts, request, [scopeOf.execute]);
  if ('kind' in found) return found;
  const { confirmation } = found;
  if (confirmation.execution.status === 'asked') {
    if (await parts.executions.asked.end(confirmation, 'expired')) {
      parts.metrics.countConfirmation('expired');
      parts.log.info({ confirmationId: confirmation.id }, 'confirmation cancelled by its client');
    }
  }
  const { id, client } = confirmation;
  const now = await parts.confirmations.findOf(client, id);
  if (now === undefined) return { kind: 'unknownConfirmation' };
  return now.execution.status === 'executing' ? { kind: 'inProgress' } : seenOf(now);
}

/** What is told of one: while it executes it may end at any moment. */
export function seenOf(confirmation: Confirmation): Seen {
  const receipt = receiptIn(confirmation);
  const { status } = confirmation.execution;
  const waits = { asked: ASKED_AGAIN_AFTER_SECONDS, executing: 1 } as Record<string, number>;
  return {
    kind: 'seen',
    body: { ok: true, confirmation: recordOf(confirmation), ...(receipt && { receipt }) },
    retryAfterSeconds: waits[status],
  };
}

async function findOwn(
  parts: LookParts,
  { id, authorization, takeFromLimit }: LookRequest,
  scopes: readonly string[],
): Promise<{ confirmation: Confirmation } | ConfirmationRefusal> {
  const rate = await takeFromLimit();
  if (rate.exceeded) return { kind: 'rateLimited', retryAfterSeconds: rate.resetSeconds };

  const caller = checkBearer(parts.credentials, authorization);
  if (caller.kind !== 'client') {
    return { kind: 'unauthenticated', credentialSent: caller.kind === 'invalid' };
  }
  if (!scopes.some((scope) => caller.scopes.has(scope))) {
    return { kind: 'insufficientScope', scope: scopes[0] ?? '' };
  }
  const confirmation = await parts.confirmations.findOf(caller.name, id);
  return confirmation === undefined ? { kind: 'unknownConfirmation' } : { confirmation };
}
