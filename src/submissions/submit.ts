/** The one way in to the upstream: a validated submission goes in, an outcome comes out. */
import { type Clock, isoTime } from '../clock.ts';
import type { Form } from '../forms/catalog.ts';
import type { Fields } from '../forms/validate.ts';
import type { Metrics } from '../operations/metrics.ts';
import type { Delivery, Event, Outcome, Upstream } from '../upstream/upstream.ts';
import { type Parties, recipientOf } from './recipient.ts';

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
};

export type SubmitParts = {
  upstream: Upstream;
  parties: Parties;
  clock: Clock;
  metrics: Pick<Metrics, 'countAttempt'>;
};

/**
 * Takes a submission and how its delivery may happen; returns what became of it. Throws only
 * `StorageUnavailable`, from an embedded destination inside the caller's transaction.
 */
export async function submit(
  parts: SubmitParts,
  submission: Submission,
  delivery: Delivery,
): Promise<Outcome> {
  const { id, form, fields, origin, client } = submission;
  const event: Event = {
    type: form.event,
    timestamp: isoTime(parts.clock.now().getTime()),
    data: {
      id,
      form: form.name,
      fields,
      recipient: recipientOf(form, parts.parties),
      origin,
      client,
      consent_recorded_at: submission.consentRecordedAt,
      ...(submission.test && { test: submission.test }),
    },
  };
  const outcome = await parts.upstream.deliver(event, delivery);
  parts.metrics.countAttempt(outcome.kind);
  return outcome;
}
