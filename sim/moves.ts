/** The moves that a submission's row may make: invariant 4, from the table of reference §25.2. */
import type { AttemptBy, SubmissionRow, SubmissionStatus } from '../src/storage/schema.ts';

type Row = Pick<
  SubmissionRow,
  'origin' | 'status' | 'attempt_number' | 'attempt_by' | 'resumed_status' | 'step' | 'next_attempt_ms'
>;

/** Kinds of attempt that may start, by the status of the row. */
const STARTED_BY: Readonly<Partial<Record<SubmissionStatus, readonly AttemptBy[]>>> = {
  waiting: ['redelivery', 'person', 'operator'],
  undelivered: ['operator'],
  delivered: ['operator'],
  dismissed: ['operator'],
};

/** Statuses in which an attempt may end, by the status before the attempt. */
const ENDS: Readonly<Record<'none' | SubmissionStatus, readonly SubmissionStatus[]>> = {
  none: ['delivered', 'waiting', 'undelivered', 'dismissed'],
  waiting: ['delivered', 'waiting', 'undelivered', 'dismissed'],
  undelivered: ['delivered', 'undelivered', 'dismissed'],
  delivered: ['delivered'],
  sending: [],
  dismissed: [],
};

const OF_AN_EXECUTION: Readonly<Record<SubmissionStatus, readonly SubmissionStatus[]>> = {
  sending: ['delivered', 'undelivered', 'dismissed'],
  // A confirmation that arrives after the lease makes the row `delivered`.
  undelivered: ['delivered', 'dismissed'],
  delivered: [],
  waiting: [],
  dismissed: [],
};

/** Returns the fault of one change of a row, or undefined if the change is allowed. */
export function faultOfMove(before: Row, after: Row): string | undefined {
  const moved = `was ${before.status}, and is ${after.status}`;
  const attempts = after.attempt_number - before.attempt_number;
  if (after.origin === 'agent') {
    const isAllowed = OF_AN_EXECUTION[before.status].includes(after.status) && attempts === 0;
    return isAllowed ? undefined : `, an execution’s, ${moved}`;
  }
  if (before.status === 'sending') {
    const isAllowed = ENDS[before.resumed_status ?? 'none'].includes(after.status);
    if (!isAllowed || attempts !== 0) return `${moved}, which was ${before.resumed_status} before`;
    return faultOfResumption(before, after);
  }
  if (after.status === 'sending') {
    const isAllowed = STARTED_BY[before.status]?.includes(after.attempt_by) && attempts === 1;
    return isAllowed ? undefined : `${moved} by ${after.attempt_by}, ${attempts} attempts on`;
  }
  const isDismissed = after.status === 'dismissed' && before.status !== 'delivered';
  return isDismissed && before.status !== 'dismissed' ? undefined : moved;
}

/** Checks that an attempt by the person or the operator changes neither the schedule nor the step. */
function faultOfResumption(before: Row, after: Row): string | undefined {
  if (before.attempt_by !== 'person' && before.attempt_by !== 'operator') return undefined;
  if (after.status !== 'waiting') return undefined;
  const isSame = before.step === after.step && before.next_attempt_ms === after.next_attempt_ms;
  return isSame ? undefined : `has another schedule after an attempt by ${before.attempt_by}`;
}
