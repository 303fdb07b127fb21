/** The whole chain of a subscription, top to bottom (spec §4.7, §2.5), in the order of contract §4. */
import { bounds } from '../forms/bounds.ts';
import { forms } from '../forms/catalog.ts';
import { isHoneypotFilled } from '../forms/honeypot.ts';
import { isConsent, originOf } from '../forms/subscription.ts';
import { missingNames, validate } from '../forms/validate.ts';
import type { Outbox } from '../mail/outbox.ts';
import { submit } from '../submissions/submit.ts';
import { decodeForm, type FormRequest } from './decode-form.ts';
import {
  answeredSince,
  deliveryOf,
  type FormResult,
  type IntakeParts,
  refusalOf,
} from './leads.ts';

/** The outbox is undefined while no mail is configured: then there are no subscriptions. */
export type SubscribeParts = IntakeParts & { outbox: Outbox | undefined };

/** Takes a request; returns `accepted` once the upstream has confirmed, or the refusal. */
export async function subscribe(parts: SubscribeParts, request: FormRequest): Promise<FormResult> {
  const { submissions, outbox } = parts;
  if (submissions === undefined || outbox === undefined)
    return { kind: 'submissionsNotConfigured' };

  const rate = await request.takeFromLimit();
  if (rate.exceeded) return { kind: 'rateLimited', retryAfterSeconds: rate.resetSeconds };

  const body = await decodeForm(request, bounds.subscribeBodyBytes);
  if (body.kind !== 'form') return body;

  const readAt = submissions.clock.monotonic();
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
    consentRecordedAt: submissions.clock.now().toISOString(),
  };
  const outcome = await submit(submissions, submission, deliveryOf(request));
  const upstream = answeredSince(submissions, event, readAt);
  parts.log.info(
    { submissionId: submission.id, form: 'newsletter', outcome },
    'subscription settled',
  );
  if (outcome.kind !== 'confirmed') return refusalOf(outcome);

  if (outcome.known || (await confirmByMail(parts, outbox, submission.id, email))) {
    return { kind: 'accepted', event, upstream };
  }
  return { kind: 'unconfirmed' };
}

/** Whether the message is kept durably: a success that could still lose it would promise too much. */
async function confirmByMail(
  parts: SubscribeParts,
  outbox: Outbox,
  id: string,
  email: string,
): Promise<boolean> {
  try {
    await outbox.add(email);
    return true;
  } catch (error) {
    parts.log.error({ submissionId: id, err: error }, 'confirmation message could not be kept yet');
    return false;
  }
}
