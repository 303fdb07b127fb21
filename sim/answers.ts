/** What people who sent a form are told, held against what became of it: promise 11. */
import { LEASE_MARGIN_MS } from '../src/submissions/submissions.ts';
import type { KeptRows } from './kept-rows.ts';
import type { Ledger, Told } from './ledger.ts';

/** For so long a store that is away is asked how another's attempt has ended. */
const UNANSWERED_MS = 2_000;

type Course = { embedded: boolean; redelivery: boolean };

/** What is wrong with an answer, or undefined: a success was delivered, and a 502 says truly whether it was kept. */
export function faultOfTold(
  ledger: Ledger,
  rows: KeptRows,
  told: Told,
  course: Course,
): string | undefined {
  const { mark, answer, reference } = told;
  const delivered = ledger.deliveredFor.get(mark) ?? 0;
  if (answer === 'unsent') {
    // What was asked for before may have left.
    if (!told.isFirst) return undefined;
    ledger.unsent.add(mark);
    return delivered === 0 ? undefined : `delivered ${delivered} times`;
  }
  if (answer === 'accepted') return faultOfSuccess(ledger, rows, told, course);
  if (answer === 'unconfirmed') {
    const learned = ledger.learned.get(mark);
    // A subscription is none whose message could not be kept.
    const hinderedAt = learned?.process.hinderedAt() ?? 0;
    const isUnkept = told.subscribed && hinderedAt >= told.at;
    // What they send again later, sent unkept as well, says nothing of this answer.
    const isOfThis =
      learned !== undefined && learned.at >= told.at && learned.askedAt < told.toldAt;
    const isConfirmed = isOfThis && learned.outcome.kind === 'confirmed';
    return isConfirmed && !isUnkept ? 'the upstream confirmed' : undefined;
  }
  const kept = reference === undefined ? rows.of(mark) : [rows.find(reference)];
  const [row] = kept;
  // One was sent unkept before, or while the first was under way: which is meant is not said.
  if (kept.length > 1) return undefined;
  if (row === undefined) return isErased(ledger) ? undefined : 'it is kept nowhere';
  if (row.attempt_number === 1 && ledger.learned.get(row.id)?.outcome.kind === 'confirmed') {
    return 'the upstream confirmed';
  }
  const isOver = row.status === 'undelivered' || row.status === 'dismissed';
  // What the last attempt was is known to whoever made it alone, until it is written.
  const isUnknown = row.attempts.trimEnd().endsWith('"outcome":"unknown","by":"first"}');
  const { isTouched } = ledger;
  if (answer === 'left') {
    const goesOn = row.status === 'waiting' && !isUnknown && !isTouched;
    return goesOn ? 'it will be sent again' : undefined;
  }
  const isAgain = row.attempt_number > 1;
  if (!course.redelivery) {
    // Another attempt is the operator's: who was stopped beyond the lease may find it under way.
    const isOvertaken = isAgain && told.toldAt - told.at > LEASE_MARGIN_MS;
    return isOvertaken ? undefined : 'nothing is sent again';
  }
  // Whom the store has not answered since then, for two seconds at least, can't know how another's attempt has ended.
  const isUnread =
    isAgain && told.reachedAt <= row.changedAt && told.toldAt - told.reachedAt >= UNANSWERED_MS;
  return isOver && !isUnknown && !isTouched && !isUnread ? `it is ${row.status}` : undefined;
}

function faultOfSuccess(
  ledger: Ledger,
  rows: KeptRows,
  { mark, reference }: Told,
  { embedded }: Course,
): string | undefined {
  const delivered =
    (reference === undefined ? undefined : ledger.deliveries.get(reference)) ??
    ledger.deliveredFor.get(mark) ??
    0;
  if (!embedded) {
    const isConfirmed = ledger.everConfirmed.has(reference ?? mark);
    return isConfirmed && delivered > 0 ? undefined : `delivered ${delivered} times`;
  }
  // What is erased in the commit that delivers it is seen by nobody; and a subscriber is kept once.
  if (delivered === 1 || isErased(ledger)) return undefined;
  const address = ledger.addresses.get(mark);
  for (const row of rows.all()) {
    if (row.form === 'newsletter' && row.address === address) return undefined;
  }
  return `delivered ${delivered} times`;
}

function isErased({ erased }: Ledger): boolean {
  return erased.size > 0;
}
