/** The receipt of an execution (spec §2.3). */
import type { ExecutionRow } from '../storage/schema.ts';

export type Receipt = {
  action_id: string;
  action: string;
  status: 'submitted' | 'failed';
  created_at: string;
  consent_recorded_at: string;
  confirmation_text: string;
  result: { ok: boolean };
};

/** As an `action_id` is spelled: whatever else comes names nothing, and is not looked for. */
const ACTION_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Whether this can be the id of an execution, which is a confirmation's as well. */
export function isActionId(id: string): boolean {
  return ACTION_ID.test(id);
}

/** What a receipt is made of. */
export type Recorded = Pick<
  ExecutionRow,
  'action_id' | 'action' | 'client' | 'status' | 'created_at' | 'confirmation_text'
>;

/** Of an execution that has ended: the same for ever. */
export function receiptOf(recorded: Recorded): Receipt {
  const submitted = recorded.status === 'submitted';
  return {
    action_id: recorded.action_id,
    action: recorded.action,
    status: submitted ? 'submitted' : 'failed',
    created_at: recorded.created_at,
    // The claim records the consent: one moment, one durable statement.
    consent_recorded_at: recorded.created_at,
    confirmation_text: recorded.confirmation_text,
    result: { ok: submitted },
  };
}
