/** The page of a native form that was refused: the form itself, with everything that was typed. */

import { problems } from '../failures/catalogue.ts';
import type { FormRefusal } from '../failures/refusals.ts';
import { type Form, fallbackForm, findForm, forms } from '../forms/catalog.ts';
import { normalize } from '../forms/fields.ts';
import { validate } from '../forms/validate.ts';
import type { Entered } from '../site/form-markup.ts';
import type { Page } from '../site/pages.ts';
import { decodeForm, type FormRequest } from './decode-form.ts';

/** Which route was asked: its form where a body names none, and the bound of its native body. */
export type FormRoute = { subscribes: boolean; bodyMaximum: number };

/**
 * Takes the pages, the request and why it was refused; returns the HTML, or undefined where the
 * body holds nothing that could be shown again. What the chain had not looked at yet is read now:
 * the refusal stands.
 */
export async function renderRefusedPage(
  pages: readonly Page[],
  request: FormRequest,
  refusal: FormRefusal,
  route: FormRoute,
): Promise<string | undefined> {
  const body = await decodeForm(request, route.bodyMaximum);
  if (body.kind !== 'form') return undefined;
  const { values } = body;
  const form = route.subscribes ? forms.newsletter : formOf(values.form);
  const page = pages.find((each) => each.form === form);
  return page?.renderRefused({ values, ...whatIsWrong(form, values, refusal) });
}

function formOf(name = ''): Form {
  return findForm(normalize(name)) ?? fallbackForm;
}

/** Either faults of fields, which the person can mend, or what became of a form that has none. */
function whatIsWrong(
  form: Form,
  values: Readonly<Record<string, string>>,
  refusal: FormRefusal,
): Omit<Entered, 'values'> {
  switch (refusal.kind) {
    case 'rateLimited':
      return { notice: { kind: 'limited', retryAfterSeconds: refusal.retryAfterSeconds } };
    case 'kept':
    case 'left':
      return { notice: { kind: refusal.kind, reference: refusal.reference } };
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
