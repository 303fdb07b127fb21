/** The whole chain of a lead, top to bottom (spec §4.6), in the order of contract §4. */
import type { NewId } from '../chance.ts';
import type { FormRefusal } from '../failures/refusals.ts';
import { bounds } from '../forms/bounds.ts';
import { type Form, fallbackForm, findForm } from '../forms/catalog.ts';
import { lengthOf, normalize } from '../forms/fields.ts';
import { isHoneypotFilled } from '../forms/honeypot.ts';
import { missingNames, validate } from '../forms/validate.ts';
import type { Log } from '../operations/log.ts';
import { type SubmitParts, submit } from '../submissions/submit.ts';
import type { Outcome } from '../upstream/upstream.ts';
import { decodeForm, type FormBody, type FormRequest } from './decode-form.ts';

/** Undefined while submissions are not configured. */
export type IntakeParts = { submissions: SubmitParts | undefined; log: Log; newId: NewId };

/** The upstream's answer: how long it took since the form was read, and when it came (monotonic, ms). */
type Answered = { tookMs: number; answeredAt: number };

/** What a bot sent has no answer of the upstream: nothing was forwarded. */
export type FormResult =
  | { kind: 'accepted'; event: Form['event']; upstream: Answered | undefined }
  | FormRefusal;

/** Takes a request; returns `accepted` once the upstream has confirmed, or the refusal. */
export async function acceptLead(parts: IntakeParts, request: FormRequest): Promise<FormResult> {
  const { submissions } = parts;
  if (submissions === undefined) return { kind: 'submissionsNotConfigured' };

  const decoded = await decodeForm(request, bounds.leadBodyBytes);
  if (decoded.kind !== 'form') return decoded;
  const body = withLongTextsNormalized(decoded);
  const form = findForm(normalize(body.values.form ?? '')) ?? fallbackForm;
  const validation = validate(form, body.values);
  const faults = validation.kind === 'invalid' ? validation.faults : [];
  // A name that came with a file or another value than text is at fault, and not missing.
  const missing = missingNames(faults).filter(
    (name) => !body.names.includes(name) || Object.hasOwn(body.values, name),
  );
  if (body.file) return { kind: 'fileUpload', missing };
  if (body.notText) return { kind: 'notText', missing };

  const readAt = submissions.clock.monotonic();
  if (isHoneypotFilled(decoded.values)) {
    return { kind: 'accepted', event: form.event, upstream: undefined };
  }

  const over = checkBounds(body);
  if (over !== undefined) return { kind: over, missing };
  if (validation.kind === 'invalid') {
    // A field's own bound is told from other faults: in a native form it is 413 (contract §4).
    const isOver = faults.some((fault) => fault.kind === 'tooLong');
    return { kind: isOver ? 'valueTooLong' : 'invalidForm', faults, missing };
  }

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
  const outcome = await submit(submissions, submission, deliveryOf(request));
  const upstream = answeredSince(submissions, form.event, readAt);
  parts.log.info({ submissionId: submission.id, form: form.name, outcome }, 'lead settled');
  if (outcome.kind !== 'confirmed') return refusalOf(outcome);
  return { kind: 'accepted', event: form.event, upstream };
}

/** Takes when the form had been read; called as soon as the upstream has answered (contract §4, "Timing"). */
export function answeredSince(parts: SubmitParts, event: Form['event'], readAt: number): Answered {
  // Our own inbox commits a stranger's row and no member's: that work belongs into the step.
  const isOwnWork = parts.upstream.embedded && event === 'subscriber.created';
  const answeredAt = isOwnWork ? readAt : parts.clock.monotonic();
  return { tookMs: answeredAt - readAt, answeredAt };
}

/** What the person is told: whether it may have arrived, and nothing of the upstream (contract §3). */
export function refusalOf(outcome: Outcome): FormRefusal {
  return { kind: 'unsent' in outcome ? 'unsent' : 'unconfirmed' };
}

/** A browser's submission has no lease: it may start whenever its connection stands. */
export function deliveryOf(request: FormRequest) {
  return {
    mayStart: () => true,
    ...(request.traceparent === undefined ? {} : { traceparent: request.traceparent }),
  };
}

/** Once, not at every look: half a megabyte of hidden characters takes milliseconds, and twice changes nothing. */
function withLongTextsNormalized(body: FormBody): FormBody {
  const long = body.texts.filter((text) => text.length > bounds.valueLength);
  if (long.length === 0 || body.names.length > bounds.fieldsPerRequest) return body;
  const normalized = new Map(long.map((text) => [text, normalize(text)]));
  const of = (text: string) => normalized.get(text) ?? text;
  const values = Object.entries(body.values).map(([name, text]) => [name, of(text)]);
  return { ...body, values: Object.fromEntries(values), texts: body.texts.map(of) };
}

/** The bounds of spec §8 that hold for every field, unknown ones included. */
function checkBounds(body: FormBody): 'tooManyFields' | 'nameTooLong' | 'valueTooLong' | undefined {
  if (body.names.length > bounds.fieldsPerRequest) return 'tooManyFields';
  if (body.names.some((name) => lengthOf(name) > bounds.fieldNameLength)) return 'nameTooLong';
  const tooLong = (text: string) =>
    text.length > bounds.valueLength && lengthOf(text) > bounds.valueLength;
  return body.texts.some(tooLong) ? 'valueTooLong' : undefined;
}
