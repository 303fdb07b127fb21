/** Compares the answers that people got for their forms with the state of their submissions: invariant 11. */
import { parseAttempts } from '../src/submissions/attempts.ts';
import { LEASE_MARGIN_MS } from '../src/submissions/lead-store.ts';
import type { WatchedRows } from './kept-rows.ts';
import type { FormAnswer, Ledger } from './ledger.ts';

/** Time for which a process retries to read the end of another process's attempt from an unavailable store. */
const UNANSWERED_MS = 2_000;

type Course = { embedded: boolean; redelivery: boolean };

/**
 * Returns the fault of an answer to a form, or undefined if it is correct. A success must have one delivery. A 502 must
 * say truly whether the submission was stored.
 */
export function faultOfFormAnswer(
  ledger: Ledger,
  rows: WatchedRows,
  given: FormAnswer,
  course: Course,
): string | undefined {
  const { mark, answer, reference } = given;
  const delivered = ledger.deliveredFor.get(mark) ?? 0;
  if (answer === 'unsent') {
    // An earlier request of the same form may have been sent.
    if (!given.isFirst) return undefined;
    // The answer may be examined after the next request of the form, whose delivery is correct.
    if (ledger.requestedAt.get(mark) !== given.at) return undefined;
    ledger.unsent.add(mark);
    return delivered === 0 ? undefined : `delivered ${delivered} times`;
  }
  if (answer === 'accepted') return faultOfSuccess(ledger, rows, given, course);
  if (answer === 'unconfirmed') {
    const learned = ledger.learned.get(mark);
    // A subscription fails if its message could not be stored, even if the upstream confirmed.
    const hinderedAt = learned?.process.hinderedAt() ?? 0;
    const isUnstored = given.subscribed && hinderedAt >= given.at;
    // A later request of the same form, also sent unstored, does not concern this answer.
    const isOfThis = learned !== undefined && learned.at >= given.at && learned.begunAt < given.answeredAt;
    const isConfirmed = isOfThis && learned.outcome.kind === 'confirmed';
    return isConfirmed && !isUnstored ? 'the upstream confirmed' : undefined;
  }
  const found = reference === undefined ? rows.of(mark) : [rows.find(reference)];
  const [row] = found;
  // There are several rows if the form was also sent unstored, or twice at once. The answer does not say which of these
  // rows it means.
  if (found.length > 1) return undefined;
  if (row === undefined) return isErased(ledger) ? undefined : 'it is kept nowhere';
  if (row.attempt_number === 1 && ledger.learned.get(row.id)?.outcome.kind === 'confirmed') {
    return 'the upstream confirmed';
  }
  const isOver = row.status === 'undelivered' || row.status === 'dismissed';
  // Until the outcome is written, only the process that made the last attempt has this outcome.
  const last = parseAttempts(row.attempts).at(-1);
  const isUnknown = last?.outcome === 'unknown' && last.by === 'first';
  const { isTouched } = ledger;
  if (answer === 'left') {
    const goesOn = row.status === 'waiting' && !isUnknown && !isTouched;
    return goesOn ? 'it will be sent again' : undefined;
  }
  const isAgain = row.attempt_number > 1;
  if (!course.redelivery) {
    // Without redelivery, only the operator starts another attempt. A process that was stopped beyond the lease may
    // find that attempt in progress.
    const isOvertaken = isAgain && given.answeredAt - given.at > LEASE_MARGIN_MS;
    return isOvertaken ? undefined : 'nothing is sent again';
  }
  // A process can't see how another process's attempt ended if the store has not answered this process since then, for
  // at least two seconds.
  const isUnread = isAgain && given.reachedAt <= row.changedAt && given.answeredAt - given.reachedAt >= UNANSWERED_MS;
  return isOver && !isUnknown && !isTouched && !isUnread ? `it is ${row.status}` : undefined;
}

function faultOfSuccess(
  ledger: Ledger,
  rows: WatchedRows,
  { mark, reference }: FormAnswer,
  { embedded }: Course,
): string | undefined {
  const delivered =
    (reference === undefined ? undefined : ledger.deliveries.get(reference)) ?? ledger.deliveredFor.get(mark) ?? 0;
  if (!embedded) {
    const isConfirmed = ledger.everConfirmed.has(reference ?? mark);
    return isConfirmed && delivered > 0 ? undefined : `delivered ${delivered} times`;
  }
  // An erasure in the commit of the delivery hides the delivery from the run. A subscriber is stored only once.
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
