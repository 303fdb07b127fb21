/**
 * The four forms, declared once (spec §1, §2.1, §4.6, §8). Validation, the browser forms, the JSON
 * routes, preview and execute, the manifest, OpenAPI and the Markdown mirrors are derived from this.
 * A fifth form is one more declaration here and a page in `content/`.
 */

import { bounds } from './bounds.ts';

const signup = bounds.contractorSignup;

/** `line` and `phone` are one line; `text` may hold several; `choice` suggests, and takes any line. */
export type FieldKind = 'line' | 'text' | 'email' | 'phone' | 'choice';

export type Field = {
  name: string;
  kind: FieldKind;
  required: boolean;
  /** Code points after normalization. */
  maximum: number;
  label: string;
  /** Why the datum is asked for, in words for a person. */
  hint?: string;
  autocomplete?: string;
  choices?: readonly string[];
  /** What a client's documentation shows. */
  example: string;
};

export type FormName = 'homeowner_quote' | 'contractor_signup' | 'contact' | 'newsletter';

export type Form = {
  name: FormName;
  audience: 'homeowner' | 'contractor' | 'either';
  /** One sentence, in the specification's words. */
  purpose: string;
  /** Who receives the data: the one contractor on the platform, or the operator (contract §4). */
  receivedBy: 'contractor' | 'operator';
  /** The type of the event that goes upstream (contract §3). */
  event: 'lead.created' | 'subscriber.created';
  /** The page of the site that carries this form. */
  page: string;
  fields: readonly Field[];
};

const name = {
  name: 'name',
  kind: 'line',
  required: true,
  maximum: bounds.valueLength,
  label: 'Full name',
  autocomplete: 'name',
  example: 'Ada Lovelace',
} as const satisfies Field;

const email = {
  name: 'email',
  kind: 'email',
  required: true,
  maximum: bounds.emailLength,
  label: 'E-mail address',
  autocomplete: 'email',
  example: 'ada@example.com',
} as const satisfies Field;

const phone = {
  name: 'phone',
  kind: 'phone',
  required: false,
  maximum: bounds.valueLength,
  label: 'Phone number',
  hint: 'Only if you would rather be called. Any format will do.',
  autocomplete: 'tel',
  example: '+1 555 0100',
} as const satisfies Field;

const message = {
  name: 'message',
  kind: 'text',
  required: false,
  maximum: bounds.valueLength,
  label: 'Message',
  example: 'Two bedrooms and the hallway, walls and ceilings.',
} as const satisfies Field;

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
        kind: 'line',
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
        kind: 'choice',
        required: false,
        maximum: bounds.valueLength,
        label: 'What is to be painted?',
        choices: [
          'Interior',
          'Exterior',
          'Interior and exterior',
          'Cabinets or trim',
          'Something else',
        ],
        example: 'Interior',
      },
      {
        name: 'timeline',
        kind: 'choice',
        required: false,
        maximum: bounds.valueLength,
        label: 'When should it be done?',
        choices: [
          'As soon as possible',
          'Within a month',
          'In one to three months',
          'Just planning',
        ],
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
        kind: 'line',
        required: true,
        maximum: signup.company,
        label: 'Company',
        autocomplete: 'organization',
        example: 'Lovelace Painting',
      },
      { ...phone, maximum: signup.phone },
      {
        name: 'company_size',
        kind: 'choice',
        required: false,
        maximum: signup.companySize,
        label: 'How many people work there?',
        choices: ['Just me', '2 to 5', '6 to 20', 'More than 20'],
        example: '2 to 5',
      },
      {
        ...message,
        maximum: signup.message,
        label: 'What would you like to see?',
        example: 'How leads reach us.',
      },
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
      {
        name: 'subject',
        kind: 'line',
        required: true,
        maximum: bounds.valueLength,
        label: 'Subject',
        example: 'A question about my request',
      },
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

/** On `/api/leads`, a missing or unrecognised `form` is this one (spec §4.6). */
export const fallbackForm: Form = forms.newsletter;

/** The form of that exact name, or undefined; `__proto__` and the like are just unknown names. */
export function findForm(wanted: string): Form | undefined {
  return Object.hasOwn(forms, wanted) ? forms[wanted as FormName] : undefined;
}
