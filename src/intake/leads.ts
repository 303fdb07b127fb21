/** The whole chain of a lead, top to bottom (spec §4.6), in the order of contract §4. */
import type { NewId } from '../chance.ts';
import type { FormRefusal } from '../failures/refusals.ts';
import { type Form, fallbackForm, findForm, VALUE_MAXIMUM } from '../forms/catalog.ts';
import { lengthOf, normalize } from '../forms/fields.ts';
import { missingNames, validate } from '../forms/validate.ts';
import type { Log } from '../operations/log.ts';
import { type SubmitParts, submit } from '../submissions/submit.ts';
import { decodeForm, type FormBody, type FormRequest } from './body.ts';

/** A native body over this many bytes is 413 (spec §8). */
export const LEAD_BODY_MAXIMUM = 32_000;

/** Spec §8. */
const FIELDS_MAXIMUM = 20;
const NAME_MAXIMUM = 100;

/** A filled one is treated as success, and nothing is forwarded (spec §4.6). */
const HONEYPOT = 'bot-field';

/** Undefined while submissions are not configured. */
export type IntakeParts = { submissions: SubmitParts | undefined; log: Log; newId: NewId };

export type FormResult = { kind: 'accepted'; event: Form['event'] } | FormRefusal;

/** Takes a request; returns `accepted` once the upstream has confirmed, or the refusal. */
export async function acceptLead(parts: IntakeParts, request: FormRequest): Promise<FormResult> {
  if (parts.submissions === undefined) return { kind: 'submissionsNotConfigured' };

  const body = await decodeForm(request, LEAD_BODY_MAXIMUM);
  if (body.kind !== 'form') return body;
  const form = findForm(normalize(body.values.form ?? '')) ?? fallbackForm;
  const validation = validate(form, body.values);
  const faults = validation.kind === 'invalid' ? validation.faults : [];
  // What came and is no text is not missing.
  const missing = missingNames(faults).filter(
    (name) => !body.names.includes(name) || Object.hasOwn(body.values, name),
  );
  if (body.file) return { kind: 'fileUpload', missing };
  if (body.notText) return { kind: 'notText', missing };

  const accepted = { kind: 'accepted', event: form.event } as const;
  if (isHoneypotFilled(body)) return accepted;

  const bounds = checkBounds(body);
  if (bounds !== undefined) return { kind: bounds, missing };
  if (validation.kind === 'invalid') return { kind: 'invalidForm', faults, missing };

  const rate = await request.takeFromLimit();
  if (rate.exceeded) return { kind: 'rateLimited', retryAfterSeconds: rate.resetSeconds };

  const submission = {
    id: parts.newId(),
    form,
    fields: validation.fields,
    origin: 'browser' as const,
    client: null,
    consentRecordedAt: null,
  };
  const outcome = await submit(parts.submissions, submission, deliveryOf(request));
  parts.log.info({ submissionId: submission.id, form: form.name, outcome }, 'lead settled');
  return outcome.kind === 'confirmed' ? accepted : { kind: 'unconfirmed' };
}

/** Whether anything is left in the honeypot after trimming. */
export function isHoneypotFilled(body: FormBody): boolean {
  return (body.values[HONEYPOT] ?? '').trim() !== '';
}

/** A browser's submission has no lease: it may start whenever its connection stands. */
export function deliveryOf(request: FormRequest) {
  return {
    mayStart: () => true,
    ...(request.traceparent === undefined ? {} : { traceparent: request.traceparent }),
  };
}

/** The bounds of spec §8 that hold for every field, unknown ones included. */
function checkBounds(body: FormBody): 'tooManyFields' | 'nameTooLong' | 'valueTooLong' | undefined {
  if (body.names.length > FIELDS_MAXIMUM) return 'tooManyFields';
  if (body.names.some((name) => lengthOf(name) > NAME_MAXIMUM)) return 'nameTooLong';
  const tooLong = (text: string) =>
    text.length > VALUE_MAXIMUM && lengthOf(normalize(text)) > VALUE_MAXIMUM;
  return body.texts.some(tooLong) ? 'valueTooLong' : undefined;
}
