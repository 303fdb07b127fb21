/** Texts for the operator about the columns of a lead. */
import type { AttemptBy, SubmissionReason, SubmissionStatus } from '../storage/schema.ts';
import type { AttemptOutcome } from '../submissions/attempts.ts';

export const statusWords: Readonly<Record<SubmissionStatus, string>> = {
  sending: 'Being sent',
  delivered: 'Delivered',
  waiting: 'Waiting for its next attempt',
  undelivered: 'Undelivered: nothing more happens by itself',
  dismissed: 'Dismissed',
};

export const reasonWords: Readonly<Record<SubmissionReason, string>> = {
  rejected: 'the receiver rejected it',
  attempts_used_up: 'every attempt was made',
  redelivery_off: 'redelivery is off',
  execution_failed: 'an agent’s execution failed; the agent was told to ask the person anew',
  sent_unkept: 'it was sent while the database was away, and is never sent a second time',
  spam: 'spam',
  answered: 'answered',
  other: 'other',
};

export const outcomeWords: Readonly<Record<AttemptOutcome, string>> = {
  confirmed: 'confirmed',
  rejected: 'rejected',
  rateLimited: 'not confirmed: the receiver asks to wait',
  unconfirmed: 'not confirmed',
  unknown: 'not known: the attempt was broken off',
};

export const byWords: Readonly<Record<AttemptBy, string>> = {
  first: 'first attempt',
  redelivery: 'sent again by itself',
  person: 'sent again by the person',
  operator: 'sent again by the operator',
};

export const viaWords = {
  agent: 'The agent repeated the statement.',
  client_form: 'The agent’s program says that its form was accepted.',
  page: 'Our page was opened, and its button pressed.',
  page_email: 'Our page was opened, and its button pressed after a code from the mailbox.',
} as const;

/** Returns a count with its noun. */
export function many(count: number, one: string, more = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : more}`;
}

/** Returns `homeowner_quote` as "Homeowner quote", and a status as one word, so that colour is not its only sign. */
export function titleCase(name: string): string {
  const words = name.replaceAll('_', ' ');
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}
