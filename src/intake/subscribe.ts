/** The whole chain of a subscription, top to bottom (spec §4.7, §2.5), in the order of contract §4. */
import { forms } from '../forms/catalog.ts';
import { normalize } from '../forms/fields.ts';
import { missingNames, validate } from '../forms/validate.ts';
import type { Outbox } from '../mail/outbox.ts';
import { submit } from '../submissions/submit.ts';
import { decodeForm, type FormRequest } from './body.ts';
import { deliveryOf, type FormResult, type IntakeParts, isHoneypotFilled } from './leads.ts';

/** A native body over this many bytes is 413 (spec §8). */
export const SUBSCRIBE_BODY_MAXIMUM = 8_000;

/** The values that mean consent, exactly, after trimming (spec §2.5). */
const CONSENT: ReadonlySet<string> = new Set(['on', 'true', 'yes', '1']);

const SLUG = /^[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*$/;
const SLUG_MAXIMUM = 100;

/** The outbox is undefined while no mail is configured: then there are no subscriptions. */
export type SubscribeParts = IntakeParts & { outbox: Outbox | undefined };

/** Takes a request; returns `accepted` once the upstream has confirmed, or the refusal. */
export async function subscribe(parts: SubscribeParts, request: FormRequest): Promise<FormResult> {
  const { submissions, outbox } = parts;
  if (submissions === undefined || outbox === undefined)
    return { kind: 'submissionsNotConfigured' };

  const rate = await request.takeFromLimit();
  if (rate.exceeded) return { kind: 'rateLimited', retryAfterSeconds: rate.resetSeconds };

  const body = await decodeForm(request, SUBSCRIBE_BODY_MAXIMUM);
  if (body.kind !== 'form') return body;

  const accepted = { kind: 'accepted', event: forms.newsletter.event } as const;
  if (isHoneypotFilled(body)) return accepted;

  const validation = validate(forms.newsletter, body.values);
  const consented = CONSENT.has(normalize(body.values.privacy ?? ''));
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
  parts.log.info(
    { submissionId: submission.id, form: 'newsletter', outcome },
    'subscription settled',
  );
  if (outcome.kind !== 'confirmed') return { kind: 'unconfirmed' };

  if (outcome.known || (await confirmByMail(parts, outbox, submission.id, email))) {
    return accepted;
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

/** The slug of the originating site; anything that is none becomes `direct` (spec §2.5). */
function originOf(contractor: string | undefined): string {
  const slug = normalize(contractor ?? '');
  return slug.length <= SLUG_MAXIMUM && SLUG.test(slug) ? slug.toLowerCase() : 'direct';
}
