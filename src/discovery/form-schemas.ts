/** The forms as JSON Schema 2020-12, derived from the catalogue. */
import { bounds } from '../forms/bounds.ts';
import { type Field, type Form, fallbackForm, forms, HONEYPOT } from '../forms/catalog.ts';
import { CONSENT_VALUES, SLUG } from '../forms/subscription.ts';

export type JsonSchema = { [keyword: string]: unknown };

/** Slug of the originating site (reference §2.8). */
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

/** Converts a name to PascalCase: `homeowner_quote` becomes `HomeownerQuote`, `lead.created` becomes `LeadCreated`. */
export function titleOf(name: string): string {
  return name
    .split(/[._]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}

/** Returns the schema of a field in a request. The length of a value counts after trimming. */
function fieldSchema(field: Field): JsonSchema {
  const { label, hint, choices } = field;
  const texts = [label, hint, choices && `Any text; suggested: ${choices.join(', ')}`].filter((each) => each);
  return {
    type: 'string',
    ...(field.kind === 'email' && { format: 'email' }),
    ...(field.required && { minLength: 1 }),
    maxLength: field.maximum,
    description: texts.map((each) => (/[.?]$/.test(each ?? '') ? each : `${each}.`)).join(' '),
    examples: [field.example],
  };
}

/** Returns the schema of a preview's body: the fields of one action (reference §2.1). */
export function fieldsSchema(form: Form): JsonSchema {
  return {
    title: `${titleOf(form.name)}Fields`,
    description: `${form.purpose}.`,
    type: 'object',
    required: requiredNames(form),
    properties: Object.fromEntries(form.fields.map((field) => [field.name, fieldSchema(field)])),
  };
}

/** Returns the schema of normalized fields, which has no empty values and no unknown fields (reference §2.4). */
export function normalizedFieldsSchema(form: Form, more: Record<string, JsonSchema> = {}): JsonSchema {
  const properties = form.fields.map((field) => [field.name, { ...fieldSchema(field), minLength: 1 }]);
  return {
    type: 'object',
    required: requiredNames(form),
    properties: { ...Object.fromEntries(properties), ...more },
    additionalProperties: false,
  };
}

/** Returns the schema of the body of `/api/leads` for one form (reference §4.4). */
export function leadSchema(form: Form): JsonSchema {
  const { properties, ...rest } = fieldsSchema(form);
  const isFallback = form === fallbackForm;
  const others = Object.keys(forms).filter((name) => name !== form.name);
  const named = {
    ...(isFallback ? { type: 'string', pattern: `^(?!(?:${others.join('|')})$)` } : { const: form.name }),
    description: `Missing or unknown means ${fallbackForm.name}.`,
  };
  return {
    ...rest,
    title: `${titleOf(form.name)}Lead`,
    required: [...(isFallback ? [] : ['form']), ...requiredNames(form)],
    properties: { form: named, ...(properties as object), [HONEYPOT]: honeypotSchema },
    // Unknown fields are dropped, but they have limits too (reference §4.6).
    maxProperties: bounds.fieldsPerRequest,
    propertyNames: { type: 'string', maxLength: bounds.fieldNameLength },
    additionalProperties: { type: 'string', maxLength: bounds.valueLength },
  };
}

/** Returns the schema of the body of `/api/subscribe` (reference §2.8). */
export function subscriptionSchema(): JsonSchema {
  const fields = fieldsSchema(forms.newsletter);
  return {
    ...fields,
    title: 'Subscription',
    required: [...requiredNames(forms.newsletter), 'privacy'],
    properties: {
      ...(fields.properties as object),
      privacy: { enum: CONSENT_VALUES, description: 'Consent to the privacy notice, given by the person.' },
      contractor: {
        type: 'string',
        description: 'Slug of the originating site; lower-cased, and anything that is none becomes `direct`.',
        examples: ['direct'],
      },
      [HONEYPOT]: honeypotSchema,
    },
  };
}

function requiredNames(form: Form): string[] {
  return form.fields.filter((field) => field.required).map((field) => field.name);
}
