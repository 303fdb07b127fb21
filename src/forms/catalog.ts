/**
 * Declares the four forms, once (reference §1.2, §2.1, §4.2). Validation, browser forms, JSON routes, preview, execute,
 * manifest, OpenAPI and Markdown mirrors derive from it. To add a form, add a declaration and a page in `content/`.
 */
import { bounds } from './bounds.ts';

const signup = bounds.contractorSignup;

/** `text` can have several lines, every other kind is one line. `choice` suggests values and accepts any line. */
export type FieldKind = 'line' | 'text' | 'email' | 'phone' | 'code' | 'choice';

export type Field = {
  name: string;
  kind: FieldKind;
  required: boolean;
  /** Largest length, in code points after normalization. */
  maximum: number;
  label: string;
  /** Reason for the question, for a person. */
  hint?: string;
  autocomplete?: string;
  choices?: readonly string[];
  /** Example value for documentation. */
  example: string;
};

export type FormName = 'homeowner_quote' | 'contractor_signup' | 'contact' | 'newsletter';

export type Form = {
  name: FormName;
  audience: 'homeowner' | 'contractor' | 'either';
  /** One sentence from the specification, without a full stop. */
  purpose: string;
  /** Recipient of the data (reference §2.9). There is one contractor on the platform. */
  receivedBy: 'contractor' | 'operator';
  /** Type of the event that is sent to the upstream (reference §10.2). */
  event: 'lead.created' | 'subscriber.created';
  /** Page of the site that has this form. */
  page: string;
  fields: readonly Field[];
};

/** Properties of a required line, and of an optional field that suggests values and accepts any other line. */
const LINE = { kind: 'line', required: true, maximum: bounds.valueLength } as const;
const CHOICE = { kind: 'choice', required: false, maximum: bounds.valueLength } as const;

const name: Field = { name: 'name', ...LINE, label: 'Full name', autocomplete: 'name', example: 'Ada Lovelace' };

const email: Field = {
  name: 'email',
  kind: 'email',
  required: true,
  maximum: bounds.emailLength,
  label: 'E-mail address',
  autocomplete: 'email',
  example: 'ada@example.com',
};

const phone: Field = {
  name: 'phone',
  kind: 'phone',
  required: false,
  maximum: bounds.valueLength,
  label: 'Phone number',
  hint: 'Only if you would rather be called. Any format will do.',
  autocomplete: 'tel',
  example: '+1 555 0100',
};

const message: Field = {
  name: 'message',
  kind: 'text',
  required: false,
  maximum: bounds.valueLength,
  label: 'Message',
  example: 'Two bedrooms and the hallway, walls and ceilings.',
};

export const forms: Readonly<Record<FormName, Form>> = {
  homeowner_quote: {
    name: 'homeowner_quote',
    audience: 'homeowner',
    purpose: 'Request a quote from one vetted painting contractor',
    receivedBy: 'contractor',
    event: 'lead.created',
    page: 'quote',
    fields: [
      name,
      { ...email, hint: 'The contractor answers to this address.' },
      {
        name: 'postal_code',
        kind: 'code',
        required: true,
        maximum: bounds.valueLength,
        label: 'Postal code',
        hint: 'Where the work is, so that the contractor knows how far it is.',
        autocomplete: 'postal-code',
        example: '94110',
      },
      phone,
      {
        name: 'project_type',
        ...CHOICE,
        label: 'What is to be painted?',
        choices: ['Interior', 'Exterior', 'Interior and exterior', 'Cabinets or trim', 'Something else'],
        example: 'Interior',
      },
      {
        name: 'timeline',
        ...CHOICE,
        label: 'When should it be done?',
        choices: ['As soon as possible', 'Within a month', 'In one to three months', 'Just planning'],
        example: 'Within a month',
      },
      { ...message, label: 'What should the contractor know?' },
    ],
  },
  contractor_signup: {
    name: 'contractor_signup',
    audience: 'contractor',
    purpose: 'Request a walkthrough of the platform',
    receivedBy: 'operator',
    event: 'lead.created',
    page: 'contractors',
    fields: [
      { ...name, maximum: signup.name },
      { ...email, hint: 'To find a time for the walkthrough.' },
      {
        name: 'company',
        ...LINE,
        maximum: signup.company,
        label: 'Company',
        autocomplete: 'organization',
        example: 'Lovelace Painting',
      },
      { ...phone, maximum: signup.phone },
      {
        name: 'company_size',
        ...CHOICE,
        maximum: signup.companySize,
        label: 'How many people work there?',
        choices: ['Just me', '2 to 5', '6 to 20', 'More than 20'],
        example: '2 to 5',
      },
      { ...message, maximum: signup.message, label: 'What would you like to see?', example: 'How leads reach us.' },
    ],
  },
  contact: {
    name: 'contact',
    audience: 'either',
    purpose: 'Send a message to the operator',
    receivedBy: 'operator',
    event: 'lead.created',
    page: 'contact',
    fields: [
      name,
      { ...email, hint: 'The reply to your message comes to this address.' },
      { name: 'subject', ...LINE, label: 'Subject', example: 'A question about my request' },
      { ...message, required: true, example: 'When can I expect an answer?' },
      phone,
    ],
  },
  newsletter: {
    name: 'newsletter',
    audience: 'either',
    purpose: 'Subscribe to updates',
    receivedBy: 'operator',
    event: 'subscriber.created',
    page: 'newsletter',
    fields: [{ ...email, hint: 'The updates go to this address and nowhere else.' }],
  },
};

/** The form for a missing or unrecognised `form` on `/api/leads` (reference §4.2). */
export const fallbackForm: Form = forms.newsletter;

/** Returns the form with exactly this name, or undefined for any other name, `__proto__` included. */
export function findForm(wanted: string): Form | undefined {
  return Object.hasOwn(forms, wanted) ? forms[wanted as FormName] : undefined;
}

/** Returns the values of a form's fields of these kinds, in the order of the form. The name is not among them. */
export function valuesOf(
  wanted: string,
  values: Readonly<Record<string, string | undefined>>,
  kinds: readonly FieldKind[],
): string[] {
  const fields = findForm(wanted)?.fields.filter(({ name, kind }) => name !== 'name' && kinds.includes(kind)) ?? [];
  return fields.map(({ name }) => values[name]).filter((value) => value !== undefined);
}

/** The field that people never see (reference §4.3). If it is filled, the service answers success and sends nothing. */
export const HONEYPOT = 'bot-field';

/** Returns true if the honeypot of a form body is not empty after trimming. */
export function isHoneypotFilled(values: Readonly<Record<string, string>>): boolean {
  return (values[HONEYPOT] ?? '').trim() !== '';
}

/** Returns a complete example submission. */
export function exampleFields(form: Form): Record<string, string> {
  return Object.fromEntries(form.fields.map((field) => [field.name, field.example]));
}

/** Returns the smallest example submission that is valid. */
export function leastFields(form: Form): Record<string, string> {
  return exampleFields({ ...form, fields: form.fields.filter((field) => field.required) });
}
