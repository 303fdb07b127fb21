/** What a lead's columns mean, in words for the operator. */

import type { ConsoleRefusal } from '../failures/refusals.ts';
import type { AttemptBy, SubmissionReason, SubmissionStatus } from '../storage/schema.ts';
import type { AttemptOutcome } from '../submissions/attempts.ts';
import type { Refused } from '../submissions/operator-changes.ts';

export const statusWords: Readonly<Record<SubmissionStatus, string>> = {
  sending: 'Being sent',
  delivered: 'Delivered',
  waiting: 'Waiting for its next attempt',
  undelivered: 'Undelivered: nothing more happens by itself',
  dismissed: 'Dismissed',
};

/** One word for a list, which is told by it and not by its colour alone. */
export const shortStatus: Readonly<Record<SubmissionStatus, string>> = {
  sending: 'Sending',
  delivered: 'Delivered',
  waiting: 'Waiting',
  undelivered: 'Undelivered',
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

/** What a press that found no such row, or one that does not take it, is answered with (beyond §7). */
export function refusalFor(why: Refused): ConsoleRefusal {
  return { kind: why === 'underWay' ? 'rowUnderWay' : 'unknownRow' };
}

/** As a heading: `homeowner_quote` is "Homeowner quote". */
export function formTitle(form: string): string {
  const words = form.replaceAll('_', ' ');
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}
