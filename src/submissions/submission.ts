/** An accepted submission, its event for the upstream, and its row (reference §10.2). */
import { hash } from 'node:crypto';
import { type Form, findForm } from '../forms/catalog.ts';
import type { Fields } from '../forms/validate.ts';
import type { SubmissionRow } from '../storage/schema.ts';
import type { Event, Sent, SubscriberData, SubscriberEvent } from '../upstream/upstream.ts';

/** The contractor and the operator's name. */
export type Parties = {
  contractor: { id: string; name: string };
  operatorName: string;
};

/** Returns the given value for the party that receives a form. */
export function receiverOf<Contractor, Operator>(
  { receivedBy }: Form,
  each: { contractor: Contractor; operator: Operator },
): Contractor | Operator {
  return each[receivedBy];
}

/** Returns the recipient's name, which the person sees before they confirm (reference §2.9). */
export function destinationOf(form: Form, parties: Parties): string {
  return receiverOf(form, { contractor: parties.contractor.name, operator: parties.operatorName });
}

export type Submission = {
  /** The `webhook-id`. For an execution it is the `action_id`. */
  id: string;
  form: Form;
  fields: Fields;
  origin: 'browser' | 'agent';
  /** Name of the client that executes. Null for a browser. */
  client: string | null;
  consentRecordedAt: string | null;
  /** A test event, which the receiver ignores. */
  test?: true;
  /** Subscriber and event of `/api/subscribe` (reference §9.3). */
  subscriber?: { id: string; event: SubscriberEvent; data: SubscriberData };
};

/** Returns the event of a submission. Without `parties` the event has no recipient. `timestamp` is ISO 8601. */
export function eventOf(submission: Submission, parties: Parties | undefined, timestamp: string): Sent {
  const { id, form, fields, origin, client, subscriber } = submission;
  const event: Event = {
    type: subscriber?.event ?? form.event,
    timestamp,
    data: {
      id,
      form: form.name,
      fields,
      recipient: parties ? receiverOf(form, { ...parties, operator: null }) : null,
      origin,
      client,
      consent_recorded_at: submission.consentRecordedAt,
      ...subscriber?.data,
      ...(submission.test && { test: submission.test }),
    },
  };
  return { id, type: event.type, body: JSON.stringify(event) };
}

/** A submission as it is inserted. */
export type NewSubmission = Pick<
  SubmissionRow,
  'id' | 'form' | 'email' | 'search_text' | 'event' | 'fields_digest' | 'subscriber_id'
>;

/** Returns the row to insert. */
export function newSubmission(submission: Submission, parties: Parties | undefined, timestamp: string): NewSubmission {
  return {
    id: submission.id,
    form: submission.form.name,
    ...searchColumns(submission),
    event: eventOf(submission, parties, timestamp).body,
    fields_digest: digestOf(submission),
    subscriber_id: submission.subscriber?.id ?? null,
  };
}

/** Returns the columns for searches. */
export function searchColumns(
  submission: Pick<Submission, 'id' | 'client' | 'fields'>,
): Pick<SubmissionRow, 'email' | 'search_text'> {
  return { email: submission.fields.email ?? null, search_text: searchTextOf(submission) };
}

/**
 * Separates a submission's search text from the digits of its telephone number. No field and no search word contains
 * this character.
 */
export const BEFORE_DIGITS = '\x1f';

/** Matches most texts. In such a text, folding changes only case and quotation marks. */
const ASCII = /^[\0-\x7f]*$/;

/** Returns the folded text of a submission: its values, the client's name, both references and the number's digits. */
export function searchTextOf({ id, client, fields }: Pick<Submission, 'id' | 'client' | 'fields'>): string {
  const digits = digitsOf(fields.phone ?? '');
  const values = [...Object.values(fields), client ?? '', id, shortReference(id)];
  return `${fold(values.join('\n'))}\n${BEFORE_DIGITS}${digits}`;
}

/** Returns the digits of a text. */
export function digitsOf(text: string): string {
  return text.replace(/\D/g, '');
}

/** Returns a text as searches compare it: without case and combining marks, and with one kind of quotation mark. */
export function fold(text: string): string {
  const plain = ASCII.test(text) ? text : text.normalize('NFKD').replace(/\p{M}+/gu, '');
  return plain.toLowerCase().replace(/["\u2018\u2019\u201c\u201d]/g, "'");
}

/** Crockford's base 32: no letter looks like a digit. */
const BASE_32 = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Returns the reference that people read aloud, as `XXXX-XXXX`, from the last 40 bits of the id (reference §12.14). */
export function shortReference(id: string): string {
  return `${lettersOf(id.slice(-10, -5))}-${lettersOf(id.slice(-5))}`;
}

/** Returns five hexadecimal digits as four digits of base 32. */
function lettersOf(digits: string): string {
  const bits = Number.parseInt(digits, 16);
  return `${BASE_32[bits >> 15]}${BASE_32[(bits >> 10) & 31]}${BASE_32[(bits >> 5) & 31]}${BASE_32[bits & 31]}`;
}

/** Returns the short reference that pages and mails show. A newsletter subscription has none. */
export function shownReference(form: string, id: string): string | undefined {
  return findForm(form)?.event === 'subscriber.created' ? undefined : shortReference(id);
}

/** Returns a digest of form and normalized fields, which finds a person's second try (reference §10.10). */
function digestOf({ form, fields }: Submission): string {
  return hash('sha256', `${form.name}\n${JSON.stringify(fields)}`, 'hex');
}

/** Returns true for the body of a subscription, and false for a later event of a subscriber. */
export function isSubscription(event: string): boolean {
  return (JSON.parse(event) as Event).type === 'subscriber.created';
}
