/** The whole chain of a subscription, top to bottom (spec §4.7, §2.5), in the order of contract §4. */
import { bounds } from '../forms/bounds.ts';
import { forms } from '../forms/catalog.ts';
import { isHoneypotFilled } from '../forms/honeypot.ts';
import { isConsent, originOf } from '../forms/subscription.ts';
import { missingNames, validate } from '../forms/validate.ts';
import type { Outbox } from '../mail/outbox.ts';
import type { Subscribers } from '../newsletter/subscribers.ts';
import type { Metrics } from '../operations/metrics.ts';
import { StorageUnavailable } from '../storage/database.ts';
import { accept, type Joining } from '../submissions/accept.ts';
import type { Accepted } from '../submissions/store.ts';
import type { Submission } from '../submissions/submission.ts';
import { decodeForm, type FormRequest } from './decode-form.ts';
import { type FormResult, type IntakeParts, unkeptRefusal } from './leads.ts';

/** The outbox is undefined while no mail is configured: then there are no subscriptions. */
export type SubscribeParts = IntakeParts & {
  outbox: Outbox | undefined;
  subscribers: Pick<Subscribers, 'join'>;
  metrics: Pick<Metrics, 'countSubscriber'>;
};

/** Takes a request; returns `accepted` once the upstream has confirmed, or the refusal. */
export async function subscribe(parts: SubscribeParts, request: FormRequest): Promise<FormResult> {
  const { parties, submissions, outbox, clock } = parts;
  if (parties === undefined || outbox === undefined) return { kind: 'submissionsNotConfigured' };

  const rate = await request.takeFromLimit();
  if (rate.exceeded) return { kind: 'rateLimited', retryAfterSeconds: rate.resetSeconds };

  const body = await decodeForm(request, bounds.subscribeBodyBytes);
  if (body.kind !== 'form') return body;

  const readAt = clock.monotonic();
  const { event } = forms.newsletter;
  if (isHoneypotFilled(body.values)) return { kind: 'accepted', event, upstream: undefined };

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
  let joined: Submission | undefined;
  const joining: Joining = async (tx) => {
    const told = await join(tx);
    joined = told.submission;
    return told;
  };
  let accepted: Accepted;
  try {
    accepted = await accept(submissions, parties, submission, request.traceparent, joining);
  } catch (error) {
    if (!(error instanceof StorageUnavailable)) throw error;
    parts.log.error({ submissionId: submission.id, err: error }, 'a subscription was not taken');
    return { kind: 'subscriptionNotKept' };
  }
  if (joined?.subscriber?.data.status === 'pending') parts.metrics.countSubscriber('pending');
  const { reference, outcome, standing } = accepted;
  const entry = { submissionId: reference, form: 'newsletter', outcome, standing };
  parts.log.info(entry, 'subscription settled');
  if (outcome.kind !== 'confirmed') {
    const isKept = standing === 'kept' || standing === 'left';
    return isKept ? { kind: standing } : unkeptRefusal(outcome);
  }
  // Our own inbox commits a stranger's row and no member's: that work belongs into the step.
  const answeredAt = submissions.options.upstream?.embedded ? readAt : accepted.answeredAt;
  return { kind: 'accepted', event, upstream: { tookMs: answeredAt - readAt, answeredAt } };
}
