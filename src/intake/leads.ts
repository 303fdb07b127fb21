/** The handler of a lead, with its checks in the order of reference §4.4. */

import type { FormRefusal } from '../failures/refusals.ts';
import { bounds } from '../forms/bounds.ts';
import { type Form, fallbackForm, findForm, isHoneypotFilled } from '../forms/catalog.ts';
import { isLongerThan, normalize } from '../forms/fields.ts';
import { missingNames, validate } from '../forms/validate.ts';
import { type Clock, isoTime } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import type { NewId } from '../platform/random.ts';
import { deliver } from '../submissions/deliver.ts';
import type { Delivered, LeadStore } from '../submissions/lead-store.ts';
import { newSubmission, type Parties } from '../submissions/submission.ts';
import { decodeForm, type FormBody, type FormRequest } from './decode-form.ts';
import type { Honeypots } from './honeypots.ts';

export type IntakeParts = {
  /** Undefined while submissions are not configured. */
  parties: Parties | undefined;
  submissions: LeadStore;
  clock: Clock;
  log: Log;
  newId: NewId;
  honeypots: Pick<Honeypots, 'caught'>;
};

export type FormResult =
  | {
      kind: 'accepted';
      event: Form['event'];
      /**
       * Time from reading the form to the upstream's answer, and the monotonic time of the answer. Undefined for a bot.
       */
      upstream: { tookMs: number; answeredAt: number } | undefined;
      /**
       * Reference of a lead, which a bot's lead has as well. A subscription has no reference, because it would reveal
       * the date of an earlier request.
       */
      reference?: string;
    }
  | FormRefusal;

/** Accepts a lead. Returns `accepted` after the upstream has confirmed the lead, otherwise the refusal. */
export async function acceptLead(parts: IntakeParts, request: FormRequest): Promise<FormResult> {
  const { parties, submissions, clock } = parts;
  if (parties === undefined) return { kind: 'submissionsNotConfigured' };

  const decoded = await decodeForm(request, bounds.leadBodyBytes);
  if (decoded.kind !== 'form') return decoded;
  const form = findForm(normalize(decoded.values.form ?? '')) ?? fallbackForm;
  const body = withLongTextsNormalized(decoded, form);
  const validation = validate(form, body.values);
  const faults = validation.kind === 'invalid' ? validation.faults : [];
  // A field whose value is a file or no text is invalid, but not missing.
  const missing = missingNames(faults).filter((name) => !body.names.includes(name) || Object.hasOwn(body.values, name));
  if (body.file) return { kind: 'fileUpload', missing };
  if (body.notText) return { kind: 'notText', missing };

  const readAt = clock.monotonic();
  if (isHoneypotFilled(decoded.values)) {
    parts.honeypots.caught(form.name);
    return { kind: 'accepted', event: form.event, upstream: undefined, ...referenceOf(form, parts.newId()) };
  }

  const over = checkBounds(body);
  if (over === 'valueTooLong') {
    // The answer names a field of the form, but never repeats an unknown name.
    return { kind: over, faults: faults.filter(({ kind }) => kind === 'tooLong'), missing };
  }
  if (over !== undefined) return { kind: over, missing };
  if (validation.kind === 'invalid') {
    // A value beyond the field's own maximum is 413 in a native form (reference §4.6).
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
  const received = newSubmission(submission, parties, isoTime(clock.now().getTime()));
  const delivered = await deliver(submissions, received, request.traceparent);
  const { reference, outcome, status, answeredAt } = delivered;
  parts.log.info({ submissionId: reference, form: form.name, outcome, status }, 'lead settled');
  const shown = referenceOf(form, reference);
  if (outcome.kind !== 'confirmed') return refusalOf(delivered, shown);
  const upstream = { tookMs: answeredAt - readAt, answeredAt };
  return { kind: 'accepted', event: form.event, upstream, ...shown };
}

/** Returns the reference of a lead. A subscription has no reference, even if it came as a lead. */
function referenceOf(form: Form, reference: string): { reference?: string } {
  return form.event === 'subscriber.created' ? {} : { reference };
}

/** Returns the answer to an unconfirmed submission: whether it may have arrived, without details (reference §4.7). */
export function refusalOf({ status, outcome }: Delivered, shown: { reference?: string } = {}): FormRefusal {
  if (status === 'queued') return { kind: 'kept', ...shown };
  if (status === 'failed') return { kind: 'left', ...shown };
  return { kind: 'unsent' in outcome ? 'unsent' : 'unconfirmed' };
}

/** Normalizes each long text once, because half a megabyte of hidden characters takes milliseconds. */
function withLongTextsNormalized(body: FormBody, form: Form): FormBody {
  const isLong = (text: string) => text.length > bounds.valueLength;
  if (body.names.length > bounds.fieldsPerRequest || !body.texts.some(isLong)) return body;
  const kinds = new Map(form.fields.map(({ name, kind }) => [name, kind]));
  const normalized = new Map<string, string>();
  const values = Object.entries(body.values).map(([name, text]) => {
    if (!isLong(text)) return [name, text];
    const value = normalize(text, kinds.get(name));
    normalized.set(text, value);
    return [name, value];
  });
  // Only the last value of a repeated name is valid, but all values count for the bounds.
  const texts = body.texts.map((text) => (isLong(text) ? (normalized.get(text) ?? normalize(text)) : text));
  return { ...body, values: Object.fromEntries(values), texts };
}

/** Checks the bounds of all fields, declared or not (reference §4.6). */
function checkBounds(body: FormBody): 'tooManyFields' | 'nameTooLong' | 'valueTooLong' | undefined {
  if (body.names.length > bounds.fieldsPerRequest) return 'tooManyFields';
  if (body.names.some((name) => isLongerThan(bounds.fieldNameLength, name))) return 'nameTooLong';
  return body.texts.some((text) => isLongerThan(bounds.valueLength, text)) ? 'valueTooLong' : undefined;
}
