/** Who receives a submission: chosen here, never by the caller (spec §1). */
import type { Form } from '../forms/catalog.ts';

/** The contractor on the platform, and the operator's name. */
export type Parties = {
  contractor: { id: string; name: string };
  operatorName: string;
};

/** Takes a form and what stands for each of the two; returns what stands for the one who receives it. */
export function receiverOf<Contractor, Operator>(
  { receivedBy }: Form,
  each: { contractor: Contractor; operator: Operator },
): Contractor | Operator {
  return each[receivedBy];
}

/** The recipient in the event: the contractor, for the forms they receive, else null (contract §3). */
export function recipientOf(form: Form, parties: Parties): Parties['contractor'] | null {
  return receiverOf(form, { contractor: parties.contractor, operator: null });
}

/** The name a person is shown before they confirm (contract §4, "`destination`"). */
export function destinationOf(form: Form, parties: Parties): string {
  return receiverOf(form, { contractor: parties.contractor.name, operator: parties.operatorName });
}
