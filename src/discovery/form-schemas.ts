/** The forms as JSON Schema 2020-12, and their examples, derived from the catalogue. */
import { bounds } from '../forms/bounds.ts';
import { type Field, type Form, fallbackForm, forms } from '../forms/catalog.ts';
import { HONEYPOT } from '../forms/honeypot.ts';
import { CONSENT_VALUES, SLUG } from '../forms/subscription.ts';

export type JsonSchema = { [keyword: string]: unknown };

/** The slug of the originating site (spec §2.5, contract §4). */
export const contractorSchema: JsonSchema = {
  type: 'string',
  pattern: SLUG.source,
  maxLength: bounds.slugLength,
  description: 'Slug of the originating site; `direct` where there is none.',
  examples: ['direct'],
};

const honeypotSchema: JsonSchema = {
  type: 'string',
  description: 'Leave this out or empty: a filled one is answered as success and dropped.',
};

/** `homeowner_quote` or `lead.created` as a title: `HomeownerQuote`, `LeadCreated`. */
export function titleOf(name: string): string {
  return name
    .split(/[._]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}

/** A field as a caller writes it: a string with its bound; trimmed before its length counts. */
function fieldSchema(field: Field): JsonSchema {
  return {
    type: 'string',
    ...(field.kind === 'email' ? { format: 'email' } : {}),
    ...(field.required ? { minLength: 1 } : {}),
    maxLength: field.maximum,
    description: fieldDescription(field),
    examples: [field.example],
  };
}

function fieldDescription({ label, hint, choices }: Field): string {
  return inSentences([label, hint, suggestionsOf(choices)]);
}

/** What a choice offers, in words: any other text is taken as well. */
export function suggestionsOf(choices: Field['choices']): string | undefined {
  return choices && `Any text; suggested: ${choices.join(', ')}`;
}

/** Whatever there is of these, each ended like a sentence. */
export function inSentences(parts: readonly (string | undefined)[]): string {
  const said = parts.filter((part) => part !== undefined);
  return said.map((part) => (/[.?]$/.test(part) ? part : `${part}.`)).join(' ');
}

/** The body of a preview: the fields of one action (spec §2.1). */
export function fieldsSchema(form: Form): JsonSchema {
  return {
    title: `${titleOf(form.name)}Fields`,
    description: `${form.purpose}.`,
    type: 'object',
    required: requiredNames(form),
    properties: Object.fromEntries(form.fields.map((field) => [field.name, fieldSchema(field)])),
  };
}

/** The fields as they were normalized: nothing empty, nothing unknown (contract §4). */
export function normalizedFieldsSchema(
  form: Form,
  more: Record<string, JsonSchema> = {},
): JsonSchema {
  const properties = form.fields.map((field) => {
    return [field.name, { ...fieldSchema(field), minLength: 1 }];
  });
  return {
    type: 'object',
    required: requiredNames(form),
    properties: { ...Object.fromEntries(properties), ...more },
    additionalProperties: false,
  };
}

/** The body of `/api/leads` for one form (spec §4.6). */
export function leadSchema(form: Form): JsonSchema {
  const { properties, ...rest } = fieldsSchema(form);
  const isFallback = form === fallbackForm;
  const others = Object.keys(forms).filter((name) => name !== form.name);
  const meant = isFallback
    ? { type: 'string', pattern: `^(?!(?:${others.join('|')})$)` }
    : { const: form.name };
  const named = { ...meant, description: `Missing or unknown means ${fallbackForm.name}.` };
  return {
    ...rest,
    title: `${titleOf(form.name)}Lead`,
    required: [...(isFallback ? [] : ['form']), ...requiredNames(form)],
    properties: { form: named, ...(properties as object), [HONEYPOT]: honeypotSchema },
    // Unknown ones are dropped, and have their bounds all the same (spec §8).
    maxProperties: bounds.fieldsPerRequest,
    propertyNames: { type: 'string', maxLength: bounds.fieldNameLength },
    additionalProperties: { type: 'string', maxLength: bounds.valueLength },
  };
}

/** The body of `/api/subscribe` (spec §2.5). */
export function subscriptionSchema(): JsonSchema {
  const fields = fieldsSchema(forms.newsletter);
  return {
    ...fields,
    title: 'Subscription',
    required: [...requiredNames(forms.newsletter), 'privacy'],
    properties: {
      ...(fields.properties as object),
      privacy: {
        enum: CONSENT_VALUES,
        description: 'Consent to the privacy notice, given by the person.',
      },
      contractor: {
        type: 'string',
        description:
          'Slug of the originating site; lower-cased, and anything that is none becomes `direct`.',
        examples: ['direct'],
      },
      [HONEYPOT]: honeypotSchema,
    },
  };
}

function requiredNames(form: Form): string[] {
  return form.fields.filter((field) => field.required).map((field) => field.name);
}
