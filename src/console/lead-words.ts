/** Texts for the operator about the columns of a lead. */
import type { AttemptBy, Progress, SubmissionReason, SubmissionStatus } from '../storage/schema.ts';
import type { AttemptOutcome } from '../submissions/attempts.ts';

export const progressWords: Readonly<Record<Progress, string>> = {
  new: 'New',
  answered: 'Answered',
  won: 'Won',
  lost: 'Lost',
  spam: 'Spam',
};

/** One or two words for a status. */
export const statusTitles: Readonly<Record<SubmissionStatus, string>> = {
  sending: 'Sending',
  delivered: 'Delivered',
  waiting: 'Waiting',
  undelivered: 'Undelivered',
  dismissed: 'Dismissed',
};

export const statusWords: Readonly<Record<SubmissionStatus, string>> = {
  sending: 'Being sent',
  delivered: 'Delivered',
  waiting: 'Waiting for the next attempt',
  undelivered: 'Undelivered: the service makes no further attempt',
  dismissed: 'Dismissed',
};

export const reasonWords: Readonly<Record<SubmissionReason, string>> = {
  rejected: 'the receiver rejected the lead',
  attempts_used_up: 'all attempts failed',
  redelivery_off: 'REDELIVERY is off',
  execution_failed: 'the execution failed, and the agent got a failed receipt',
  sent_unkept: 'the service sent the lead while the database was unavailable, and never sends it again',
  spam: 'spam',
  answered: 'answered',
  other: 'other',
};

export const outcomeWords: Readonly<Record<AttemptOutcome, string>> = {
  confirmed: 'confirmed',
  rejected: 'rejected',
  rateLimited: 'not confirmed: the receiver is busy',
  unconfirmed: 'not confirmed',
  unknown: 'unknown: the service stopped during the attempt',
};

export const byWords: Readonly<Record<AttemptBy, string>> = {
  first: 'first attempt',
  redelivery: 'automatic retry',
  person: 'resent by the person',
  operator: 'resent by an operator',
};

export const viaWords = {
  agent: 'The agent repeated the statement',
  client_form: 'The person accepted a form or card in the agent’s program',
  page: 'The person confirmed on our page',
  page_email: 'The person confirmed on our page, with a code from their mailbox',
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
