/**
 * Checks the messages that a submission causes (reference §11.5, §11.8). The commit that ends its first attempt, or its
 * execution as `submitted`, also queues them: invariant 8.
 */
import { findForm } from '../src/forms/catalog.ts';
import type { SubmissionRow } from '../src/storage/schema.ts';
import type { Extras } from './extras.ts';
import { type Ledger, mailboxOf } from './ledger.ts';
import type { Store } from './store.ts';

type Row = Pick<SubmissionRow, 'id' | 'form' | 'origin' | 'status' | 'attempt_number' | 'resumed_status'> & {
  address: string;
};

/** Returns a function that checks a row whose state has changed. `before` is undefined for a new row. */
export function watchOwed(store: Store, ledger: Ledger, { acknowledges, tellsContractor }: Extras) {
  const has = (kind: string, key: string) =>
    store.read('select 1 from messages where kind = ? and key = ?', kind, key)?.length !== 0;

  return (before: Row | undefined, after: Row): void => {
    if (!acknowledges && !tellsContractor) return;
    const { id, form, origin, status, address } = after;
    const isFirst = before === undefined || (before.status === 'sending' && before.resumed_status === null);
    const isEnd =
      status !== 'sending' && after.attempt_number === 1 && (origin === 'browser' || status === 'delivered');
    if (!isFirst || !isEnd || ledger.erased.has(address)) return;
    const { event, receivedBy } = findForm(form) ?? {};
    if (acknowledges && event === 'lead.created' && !has('acknowledgement', mailboxOf(address))) {
      ledger.violate(8, `${id} has ended as ${status}, without an acknowledgement`);
    }
    if (tellsContractor && receivedBy === 'contractor' && !has('contractor_notice', id)) {
      ledger.violate(8, `${id} has ended as ${status}, and the contractor is not told`);
    }
  };
}
