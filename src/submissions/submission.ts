/** What was accepted, and the event that says so to the upstream (contract §3). */
import { createHash } from 'node:crypto';
import type { Form } from '../forms/catalog.ts';
import type { Fields } from '../forms/validate.ts';
import type { SubmissionRow } from '../storage/schema.ts';
import type { Event, Sent, SubscriberData, SubscriberEvent } from '../upstream/upstream.ts';
import { type Parties, recipientOf } from './recipient.ts';

const COMPARED_CHARACTERS = 64;

export type Submission = {
  /** The `webhook-id`; of an execution, its `action_id`. */
  id: string;
  form: Form;
  fields: Fields;
  origin: 'browser' | 'agent';
  /** The name of the client that executed; null for a browser. */
  client: string | null;
  consentRecordedAt: string | null;
  /** Of nobody: the receiver is told to do nothing about it. */
  test?: true;
  /** Whose subscription it is, or what became of that since; of `/api/subscribe` alone (beyond §6). */
  subscriber?: { id: string; event: SubscriberEvent; data: SubscriberData };
};

/**
 * Takes a submission, who receives what (undefined where nobody but the operator does), and the moment, ISO 8601;
 * returns what is kept and sent.
 */
export function eventOf(
  submission: Submission,
  parties: Parties | undefined,
  timestamp: string,
): Sent {
  const { id, form, fields, origin, client, subscriber } = submission;
  const event: Event = {
    type: subscriber?.event ?? form.event,
    timestamp,
    data: {
      id,
      form: form.name,
      fields,
      recipient: parties === undefined ? null : recipientOf(form, parties),
      origin,
      client,
      consent_recorded_at: submission.consentRecordedAt,
      ...subscriber?.data,
      ...(submission.test && { test: submission.test }),
    },
  };
  return { id, type: event.type, body: JSON.stringify(event) };
}

/** What is looked for of a submission, beside the event: its address and telephone number, where it has them. */
export function lookedFor({ email, phone }: Fields): Pick<SubmissionRow, 'email' | 'telephone'> {
  return { email: email ?? null, telephone: telephoneOf(phone) };
}

/**
 * A telephone number is compared by its digits: blanks and punctuation are each person's own. Whatever else somebody
 * wrote there is bounded, for an index of PostgreSQL's takes 2,704 bytes.
 */
function telephoneOf(phone: string | undefined): string | null {
  const digits = phone?.replaceAll(/[ +()\-./\u00a0]/g, '');
  return digits === undefined ? null : comparedOf(digits);
}

/** As much of a telephone number's digits as is compared: a number has 15. */
export function comparedOf(digits: string): string {
  if (digits.length <= COMPARED_CHARACTERS) return digits;
  return Array.from(digits).slice(0, COMPARED_CHARACTERS).join('');
}

/** The same for the same form with the same normalized fields: so a person's second try is known (beyond §1). */
export function digestOfFields({ form, fields }: Pick<Submission, 'form' | 'fields'>): string {
  return createHash('sha256')
    .update(`${form.name}\n${JSON.stringify(fields)}`)
    .digest('hex');
}

/** Takes the body of an event; true of a subscription, and false of what became of one later. */
export function isSubscription(event: string): boolean {
  return (JSON.parse(event) as Event).type === 'subscriber.created';
}
