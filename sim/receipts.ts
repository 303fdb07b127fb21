/** Clients that ask for their receipts signed, two at once: promise 2, its other half. */
import type { Random } from '../chaos/random.ts';
import type { Crowd } from './asking.ts';
import type { Key } from './ledger.ts';

/** In so many runs they ask while faults strike as well. */
const DURING_FAULTS = 0.15;
const PATIENCE_MS = 5_000;

/** Takes the chance of this part alone, and the network over it. */
export function openReceiptReading(random: Random, call: Crowd['call']): Crowd['receipts'] {
  return { call, duringFaults: random.chance(DURING_FAULTS) };
}

/** After an answer with a receipt, which is final: nobody is told that there is none, or another signature. */
export async function readReceipts(
  { ledger, receipts }: Crowd,
  key: Key,
  { mayBeGone = false } = {},
): Promise<void> {
  const [receipt] = key.receipts;
  if (receipt === undefined) return;
  const { action_id: actionId } = JSON.parse(receipt) as { action_id: string };
  const ask = () =>
    receipts.call(
      `the receipt of ${actionId}`,
      (service) => service.readReceipt(key.client, actionId),
      PATIENCE_MS,
    );
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
