/** The handler of a subscription, with its checks in the order of reference §4.5. */
import { bounds } from '../forms/bounds.ts';
import { forms, isHoneypotFilled } from '../forms/catalog.ts';
import { isConsent, originOf } from '../forms/subscription.ts';
import { missingNames, validate } from '../forms/validate.ts';
import type { Outbox } from '../mail/outbox.ts';
import type { Subscribers } from '../newsletter/subscribers.ts';
import type { Metrics } from '../platform/metrics.ts';
import { StorageUnavailable } from '../storage/database.ts';
import { deliver } from '../submissions/deliver.ts';
import type { Delivered } from '../submissions/lead-store.ts';
import { newSubmission } from '../submissions/submission.ts';
import { decodeForm, type FormRequest } from './decode-form.ts';
import { type FormResult, type IntakeParts, refusalOf } from './leads.ts';

export type SubscribeParts = IntakeParts & {
  /** Undefined if no mail is configured. In that case the service accepts no subscriptions. */
  outbox: Outbox | undefined;
  subscribers: Pick<Subscribers, 'join'>;
  metrics: Pick<Metrics, 'countSubscriber'>;
};

/**
 * Accepts a subscription. Returns `accepted` after the upstream has confirmed the subscription, otherwise the refusal.
 */
export async function subscribe(parts: SubscribeParts, request: FormRequest): Promise<FormResult> {
  const { parties, submissions, outbox, clock } = parts;
  if (parties === undefined || outbox === undefined) return { kind: 'submissionsNotConfigured' };

  const rate = await request.takeFromLimit();
  if (rate.exceeded) return { kind: 'rateLimited', retryAfterSeconds: rate.resetSeconds };

  const body = await decodeForm(request, bounds.subscribeBodyBytes);
  if (body.kind !== 'form') return body;

  const readAt = clock.monotonic();
  const { event } = forms.newsletter;
  if (isHoneypotFilled(body.values)) {
    parts.honeypots.caught('newsletter');
    return { kind: 'accepted', event, upstream: undefined };
  }

  const validation = validate(forms.newsletter, body.values);
  const consented = isConsent(body.values.privacy);
  const faults = validation.kind === 'invalid' ? validation.faults : [];
  const missing = [...missingNames(faults), ...(consented ? [] : ['privacy'])];
  if (validation.kind === 'invalid') return { kind: 'invalidForm', faults, missing };
  if (!consented) return { kind: 'missingConsent', missing };

  const { email = '' } = validation.fields;
  const submission = {
    id: parts.newId(),
    form: forms.newsletter,
    fields: { email, contractor: originOf(body.values.contractor) },
    origin: 'browser' as const,
    client: null,
    consentRecordedAt: clock.now().toISOString(),
  };
  const join = parts.subscribers.join(submission);
  let isPending = false;
  let delivered: Delivered;
  try {
    const received = newSubmission(submission, parties, submission.consentRecordedAt);
    delivered = await deliver(submissions, received, request.traceparent, async (tx) => {
      const { submission: joined, at } = await join(tx);
      isPending = joined.subscriber?.data.status === 'pending';
      return newSubmission(joined, parties, at);
    });
  } catch (error) {
    if (!(error instanceof StorageUnavailable)) throw error;
    parts.log.error({ submissionId: submission.id, err: error }, 'subscription not stored');
    return { kind: 'subscriptionNotKept' };
  }
  if (isPending) parts.metrics.countSubscriber('pending');
  const { reference, outcome, status } = delivered;
  const entry = { submissionId: reference, form: 'newsletter', outcome, status };
  parts.log.info(entry, 'subscription settled');
  if (outcome.kind !== 'confirmed') return refusalOf(delivered);
  // With the embedded inbox, only a new address commits a row. The answer time has to cover that work.
  const answeredAt = submissions.upstream?.embedded ? readAt : delivered.answeredAt;
  return { kind: 'accepted', event, upstream: { tookMs: answeredAt - readAt, answeredAt } };
}
