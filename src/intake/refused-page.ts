/**
 * The page after a native form was not confirmed. A stored submission gets a page like that of a success. Any other gets
 * the form itself with all typed values.
 */

import { problems } from '../failures/catalogue.ts';
import type { FormRefusal } from '../failures/refusals.ts';
import { type Form, fallbackForm, findForm, forms } from '../forms/catalog.ts';
import { normalize } from '../forms/fields.ts';
import { validate } from '../forms/validate.ts';
import type { Entered } from '../site/form-markup.ts';
import type { Page } from '../site/pages.ts';
import type { StoredKind } from '../site/stored-page.ts';
import { shownReference } from '../submissions/submission.ts';
import { decodeForm, type FormRequest } from './decode-form.ts';

/**
 * Returns the HTML, or undefined if the body contains no values to show. If the handler has not read the body, this
 * function reads it. The refusal stays the same.
 */
export async function renderRefusedPage(
  pages: readonly Page[],
  request: FormRequest,
  refusal: FormRefusal,
  { subscribes, bodyMaximum }: { subscribes: boolean; bodyMaximum: number },
): Promise<string | undefined> {
  const body = await decodeForm(request, bodyMaximum);
  if (body.kind !== 'form') return undefined;
  const { values } = body;
  const form = subscribes ? forms.newsletter : (findForm(normalize(values.form ?? '')) ?? fallbackForm);
  const page = pages.find((each) => each.form === form);
  if (refusal.kind === 'kept' || refusal.kind === 'left') {
    return page?.renderStored(refusal.kind, refusal.reference && shownReference(form.name, refusal.reference));
  }
  return page?.renderRefused({ values, ...explain(form, values, refusal) });
}

/** Returns the invalid values, which the person can correct, or a notice if there are none. */
function explain(
  form: Form,
  values: Readonly<Record<string, string>>,
  refusal: Exclude<FormRefusal, { kind: StoredKind }>,
): Omit<Entered, 'values'> {
  switch (refusal.kind) {
    case 'rateLimited':
      return { notice: { kind: 'limited', retryAfterSeconds: refusal.retryAfterSeconds } };
    case 'unconfirmed':
    case 'unsent':
      return { notice: { kind: refusal.kind } };
    case 'submissionsNotConfigured':
    case 'subscriptionNotKept':
      return { notice: { kind: 'unavailable' } };
  }
  const validation = validate(form, values);
  const faults = validation.kind === 'invalid' ? validation.faults : [];
  const consentMissing = 'missing' in refusal && refusal.missing.includes('privacy');
  if (faults.length === 0 && !consentMissing) {
    return { notice: { kind: 'refused', sentence: problems[refusal.kind].error } };
  }
  return {
    faults: Object.fromEntries(faults.map(({ field, kind }) => [field.name, kind])),
    consentMissing,
  };
}
