/** Who receives a submission: chosen here, never by the caller (spec §1). */
import type { Form } from '../forms/catalog.ts';

/** The contractor on the platform, and the operator's name. */
export type Parties = {
  contractor: { id: string; name: string };
  operatorName: string;
};

/** The recipient in the event: the contractor, for the forms they receive, else null (contract §3). */
export function recipientOf(form: Form, parties: Parties): { id: string; name: string } | null {
  return form.receivedBy === 'contractor' ? parties.contractor : null;
}

/** The name a person is shown before they confirm (contract §4, "`destination`"). */
export function destinationOf(form: Form, parties: Parties): string {
  return recipientOf(form, parties)?.name ?? parties.operatorName;
}
