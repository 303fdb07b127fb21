/** Clients that request their signed receipts, with two requests at once. Checks the second half of invariant 2. */
import type { Random } from '../chaos/random.ts';
import type { Crowd } from './asking.ts';
import type { Key } from './ledger.ts';

/** Fraction of the runs in which clients also request receipts while faults strike. */
const DURING_FAULTS = 0.15;
const PATIENCE_MS = 5_000;

/**
 * Opens the requests for receipts. These requests use separate random numbers and a separate network, so that they
 * change nothing else in the run.
 */
export function openReceiptReading(random: Random, call: Crowd['call']): Crowd['receipts'] {
  return { call, duringFaults: random.chance(DURING_FAULTS) };
}

/**
 * Requests the receipt twice, after an answer with a final receipt. Both results must have this receipt and one
 * signature.
 */
export async function readReceipts({ ledger, receipts }: Crowd, key: Key, { mayBeGone = false } = {}): Promise<void> {
  const [receipt] = key.receipts;
  if (receipt === undefined) return;
  const { action_id: actionId } = JSON.parse(receipt) as { action_id: string };
  const ask = () =>
    receipts.call(`the receipt of ${actionId}`, (service) => service.readReceipt(key.client, actionId), PATIENCE_MS);
  for (const answer of await Promise.all([ask(), ask()])) {
    if (answer === undefined || answer.kind === 'unavailable') continue;
    if (answer.kind === 'unknownReceipt' && mayBeGone) continue;
    if (answer.kind !== 'found') {
      ledger.violate(2, `${key.key}: its receipt is answered by ${answer.kind}`);
      continue;
    }
    const { record } = answer;
    key.receipts.add(JSON.stringify(record.receipt));
    key.signed.add(String(record.signed_receipt));
    if (key.receipts.size > 1 || key.signed.size > 1) {
      ledger.violate(2, `${key.key}: ${actionId} has another receipt, or another signature`);
    }
  }
}
