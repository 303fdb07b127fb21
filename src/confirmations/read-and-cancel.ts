/** Reads and cancels a client's own confirmations (reference §6.6). */
import { type AgentRequest, admitReader, admitWith } from '../actions/authorize.ts';
import { type ExecuteParts, partsFor } from '../actions/execute.ts';
import type { Receipt } from '../actions/executions.ts';
import { PENDING_RETRY_SECONDS } from '../actions/preview-token.ts';
import { scopeOf } from '../credentials/clients.ts';
import type { ConfirmationRefusal } from '../failures/refusals.ts';
import type { Metrics } from '../platform/metrics.ts';
import {
  type Confirmation,
  type ConfirmationRecord,
  type Confirmations,
  receiptIn,
  recordOf,
} from './confirmations.ts';
import type { PendingConfirmations } from './pending.ts';

export type ReadParts = Pick<ExecuteParts, 'credentials' | 'log' | 'sandbox'> & {
  confirmations: Confirmations;
  pending: Pick<PendingConfirmations, 'end'>;
  metrics: Pick<Metrics, 'countConfirmation'>;
};

type ReadRequest = AgentRequest & { id: string };

/** The body of the answer, and the seconds after which the client should read again. */
type Found = {
  kind: 'found';
  body: { ok: true; confirmation: ConfirmationRecord; receipt?: Receipt };
  retryAfterSeconds: number | undefined;
};

/**
 * Returns a client's own confirmation, or the refusal.
 * @throws StorageUnavailable
 */
export async function readConfirmation(parts: ReadParts, request: ReadRequest): Promise<Found | ConfirmationRefusal> {
  const found = await findOwn(parts, request.id, await admitReader(parts, request));
  return 'kind' in found ? found : foundOf(found.confirmation);
}

/**
 * Cancels a client's own confirmation if it is pending, and returns the confirmation.
 * @throws StorageUnavailable
 */
export async function cancelConfirmation(all: ReadParts, request: ReadRequest): Promise<Found | ConfirmationRefusal> {
  const caller = await admitWith(all, request, scopeOf.execute);
  const found = await findOwn(all, request.id, caller);
  if ('kind' in found) return found;
  const parts = partsFor(all, found.confirmation);
  const { confirmation } = found;
  if (confirmation.execution.status === 'asked') {
    if (await parts.pending.end(confirmation, 'expired')) {
      parts.metrics.countConfirmation('expired');
      parts.log.info({ confirmationId: confirmation.id }, 'confirmation cancelled by client');
    }
  }
  const { id, client } = confirmation;
  const now = await parts.confirmations.findOf(client, id);
  if (now === undefined) return { kind: 'unknownConfirmation' };
  return now.execution.status === 'executing' ? { kind: 'inProgress' } : foundOf(now);
}

/** Returns the answer about a confirmation. A confirmation that executes may end at any moment. */
export function foundOf(confirmation: Confirmation): Found {
  const receipt = receiptIn(confirmation);
  const { status } = confirmation.execution;
  const waits = { asked: PENDING_RETRY_SECONDS, executing: 1 } as Record<string, number>;
  return {
    kind: 'found',
    body: { ok: true, confirmation: recordOf(confirmation), ...(receipt && { receipt }) },
    retryAfterSeconds: waits[status],
  };
}

async function findOwn(
  parts: ReadParts,
  id: string,
  caller: Awaited<ReturnType<typeof admitReader>>,
): Promise<{ confirmation: Confirmation } | ConfirmationRefusal> {
  if (caller.kind !== 'client') return caller;
  const confirmation = await parts.confirmations.findOf(caller.name, id);
  return confirmation === undefined ? { kind: 'unknownConfirmation' } : { confirmation };
}
