/** Reading a receipt, top to bottom (beyond §5): the route and the tool of beyond §3 ask the same. */
import { isActionId } from '../actions/receipt.ts';
import { checkBearer } from '../credentials/check.ts';
import type { Credentials } from '../credentials/file.ts';
import type { Refusal } from '../failures/refusals.ts';
import type { Rate } from '../limits/limits.ts';
import type { ReceiptRecord, Receipts } from './receipts.ts';

export type ReadParts = { credentials: Credentials; receipts: Receipts };

export type ReadRequest = {
  /** What was named, whatever it is. */
  actionId: unknown;
  /** Every `Authorization` line. */
  authorization: readonly string[];
  /** Counts the request. */
  takeFromLimit(): Promise<Rate>;
};

export type ReadResult = { kind: 'found'; record: ReceiptRecord } | Refusal;

/** What the client itself executed, once it has ended; of nobody else's is anything said. Throws `StorageUnavailable`. */
export async function readReceipt(parts: ReadParts, request: ReadRequest): Promise<ReadResult> {
  const rate = await request.takeFromLimit();
  if (rate.exceeded) return { kind: 'rateLimited', retryAfterSeconds: rate.resetSeconds };

  // Either scope will do.
  const caller = checkBearer(parts.credentials, request.authorization);
  if (caller.kind !== 'client') {
    return { kind: 'unauthenticated', credentialSent: caller.kind === 'invalid' };
  }

  const { actionId } = request;
  if (typeof actionId !== 'string' || !isActionId(actionId)) return { kind: 'unknownReceipt' };
  const found = await parts.receipts.find(caller.name, actionId);
  if (found === undefined) return { kind: 'unknownReceipt' };
  return found.kind === 'executing'
    ? { kind: 'inProgress' }
    : { kind: 'found', record: found.record };
}
