/** The whole chain of a lead, top to bottom (spec §4.6), in the order of contract §4. */
import type { NewId } from '../chance.ts';
import type { Clock } from '../clock.ts';
import type { FormRefusal } from '../failures/refusals.ts';
import { bounds } from '../forms/bounds.ts';
import { type Form, fallbackForm, findForm } from '../forms/catalog.ts';
import { isLongerThan, normalize } from '../forms/fields.ts';
import { isHoneypotFilled } from '../forms/honeypot.ts';
import { missingNames, validate } from '../forms/validate.ts';
import type { Log } from '../operations/log.ts';
import { accept } from '../submissions/accept.ts';
import type { Parties } from '../submissions/recipient.ts';
import type { Accepted } from '../submissions/store.ts';
import type { Submissions } from '../submissions/submissions.ts';
import { decodeForm, type FormBody, type FormRequest } from './decode-form.ts';

export type IntakeParts = {
  /** Undefined while submissions are not configured. */
  parties: Parties | undefined;
  submissions: Submissions;
  clock: Clock;
  log: Log;
  newId: NewId;
};

/** The upstream's answer: how long it took since the form was read, and when it came (monotonic, ms). */
type Answered = { tookMs: number; answeredAt: number };

/**
 * What a bot sent has no answer of the upstream: nothing was forwarded. A lead has a reference, whoever sent it;
 * a subscription has none, for it would date an earlier request.
 */
export type FormResult =
  | {
      kind: 'accepted';
      event: Form['event'];
      upstream: Answered | undefined;
      reference?: string;
    }
  | FormRefusal;

/** Takes a request; returns `accepted` once the upstream has confirmed, or the refusal. */
export async function acceptLead(parts: IntakeParts, request: FormRequest): Promise<FormResult> {
  const { parties, submissions, clock } = parts;
  if (parties === undefined) return { kind: 'submissionsNotConfigured' };

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

  const readAt = clock.monotonic();
  if (isHoneypotFilled(decoded.values)) {
    const told = referenceOf(form, parts.newId());
    return { kind: 'accepted', event: form.event, upstream: undefined, ...told };
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
  const accepted = await accept(submissions, parties, submission, request.traceparent);
  const { reference, outcome, standing } = accepted;
  const entry = { submissionId: reference, form: form.name, outcome, standing };
  const told = referenceOf(form, reference);
  parts.log.info(entry, 'lead settled');
  if (outcome.kind !== 'confirmed') {
    const isKept = standing === 'kept' || standing === 'left';
    return isKept ? { kind: standing, ...told } : unkeptRefusal(outcome);
  }
  const upstream = { tookMs: accepted.answeredAt - readAt, answeredAt: accepted.answeredAt };
  return { kind: 'accepted', event: form.event, upstream, ...told };
}

/** Of a subscription, by whichever route it came, none: who types an address would hear when somebody did before. */
function referenceOf(form: Form, reference: string): { reference?: string } {
  return form.event === 'subscriber.created' ? {} : { reference };
}

/** What the person is told of what nobody kept: whether it may have arrived, and nothing of the upstream (contract §3). */
export function unkeptRefusal(outcome: Accepted['outcome']): FormRefusal {
  return { kind: 'unsent' in outcome ? 'unsent' : 'unconfirmed' };
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
  if (body.names.some((name) => isLongerThan(bounds.fieldNameLength, name))) return 'nameTooLong';
  return body.texts.some((text) => isLongerThan(bounds.valueLength, text))
    ? 'valueTooLong'
    : undefined;
}
