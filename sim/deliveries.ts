/** Checks the deliveries that the destination reads: invariants 1, 9 and 11. */
import type { Event } from '../src/upstream/upstream.ts';
import { TESTER } from './clients.ts';
import { count, type Ledger } from './ledger.ts';

/**
 * Records a delivery. A preview has at most one delivery (invariant 1). All deliveries of a form have one id and one
 * body (invariant 9).
 */
export function seeDelivery(ledger: Ledger, event: Event, body: string): void {
  const { data } = event;
  ledger.note(() => `the destination reads ${data.id}`);
  count(ledger.deliveries, data.id);
  const mark = markOf(event);
  const times = count(ledger.deliveredFor, mark);
  if (data.origin === 'agent' && times > 1) ledger.violate(1, `${mark} was delivered twice`);
  if (data.client === TESTER) ledger.violate(14, `${data.id} of a sandbox client was delivered`);
  if (ledger.unsent.has(mark)) ledger.violate(11, `${mark} was told that nothing was sent`);
  const first = ledger.bodies.get(data.id) ?? body;
  ledger.bodies.set(data.id, first);
  if (first !== body) ledger.violate(9, `${data.id} has two bodies`);
}

/**
 * Returns the value that identifies a submission: its e-mail address, or for a subscription `contractor`, because several
 * subscriptions have the same address.
 */
export function markOf({ type, data: { id, fields } }: Event): string {
  if (type === 'subscriber.confirmed' || type === 'subscriber.unsubscribed') return id;
  return fields.contractor ?? fields.email ?? '';
}
