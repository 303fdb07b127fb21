/** The events that go upstream (contract §3, beyond §6), as JSON Schema 2020-12. */
import { type Form, forms } from '../forms/catalog.ts';
import { pathTo, routes } from '../routes.ts';
import { receiverOf } from '../submissions/recipient.ts';
import type { Event, SubscriberData, SubscriberEvent } from '../upstream/upstream.ts';
import {
  contractorSchema,
  exampleFields,
  type JsonSchema,
  normalizedFieldsSchema,
} from './form-schemas.ts';

const DIALECT = 'https://json-schema.org/draft/2020-12/schema';

const recipientSchema: JsonSchema = {
  type: 'object',
  description: 'The one contractor on the platform, chosen by the service.',
  required: ['id', 'name'],
  properties: { id: { type: 'string' }, name: { type: 'string' } },
  additionalProperties: false,
};

/** What becomes of a subscription later (beyond §6). */
const LATER = ['subscriber.confirmed', 'subscriber.unsubscribed'] as const;
type Later = (typeof LATER)[number];

/** The types of event that the forms of the catalogue cause, and those of what becomes of a subscription. */
export const eventTypes: readonly Event['type'][] = [
  ...new Set(Object.values(forms).map((form) => form.event)),
  ...LATER,
];

/** Takes a type; returns the schema of its body. */
export function eventSchema(type: Event['type']): JsonSchema {
  const [first, ...others] = formsThatCause(type).map((form) => dataSchema(form, type));
  return {
    $schema: DIALECT,
    title: type,
    description: 'The body of the one POST for an accepted submission, as Standard Webhooks.',
    type: 'object',
    required: ['type', 'timestamp', 'data'],
    properties: {
      type: { const: type },
      timestamp: { type: 'string', format: 'date-time', description: 'When it was sent.' },
      data: others.length === 0 ? first : { oneOf: [first, ...others] },
    },
    additionalProperties: false,
  };
}

function dataSchema(form: Form, type: Event['type']): JsonSchema {
  const also = isLater(type)
    ? laterSchemas(type)
    : type === 'subscriber.created'
      ? ofSubscription
      : {};
  const always = isLater(type) ? Object.keys(also) : [];
  return {
    title: form.name,
    type: 'object',
    required: [
      ...['id', 'form', 'fields', 'recipient', 'origin', 'client', 'consent_recorded_at'],
      ...always,
    ],
    properties: {
      id: {
        type: 'string',
        description:
          'Equal to webhook-id and idempotency-key; of an execution, its action_id. Ignore one that was seen before.',
      },
      form: { const: form.name },
      fields: normalizedFieldsSchema(
        form,
        type === 'lead.created' ? {} : { contractor: contractorSchema },
      ),
      recipient: receiverOf(form, { contractor: recipientSchema, operator: { type: 'null' } }),
      origin: { enum: ['browser', 'agent'] },
      client: {
        type: ['string', 'null'],
        description: 'The agent client that executed; null for a browser.',
      },
      consent_recorded_at: {
        type: ['string', 'null'],
        format: 'date-time',
        description: 'When the person’s consent was recorded; equal to the receipt’s.',
      },
      ...also,
      test: {
        const: true,
        description:
          'Only in what `npm run doctor` sends, which is of nobody: verify it and answer as ever, and keep it out of what people work with.',
      },
    },
    additionalProperties: false,
  };
}

const unsubscribeUrl: JsonSchema = {
  type: 'string',
  format: 'uri',
  description:
    'For each message that you send: its List-Unsubscribe (RFC 8058), and the link to leave. It stays the same.',
};

/** Of a subscription where a person subscribes; an agent's, and one of /api/leads, has neither. */
const ofSubscription = {
  status: {
    enum: ['pending', 'confirmed'],
    description: '`pending` until the person has confirmed; `confirmed` where they had before.',
  },
  unsubscribe_url: unsubscribeUrl,
};

function laterSchemas(type: Later): Record<string, JsonSchema> {
  const time = (description: string) => ({ type: 'string', format: 'date-time', description });
  const orNull = { type: ['string', 'null'], format: 'date-time' };
  const confirmed = 'When the person confirmed';
  const left = 'When the person left';
  return type === 'subscriber.confirmed'
    ? {
        status: { const: 'confirmed' },
        unsubscribe_url: unsubscribeUrl,
        confirmed_at: time(`${confirmed}.`),
        unsubscribed_at: { type: 'null', description: `${left}: they have not.` },
      }
    : {
        status: { const: 'unsubscribed' },
        unsubscribe_url: unsubscribeUrl,
        confirmed_at: { ...orNull, description: `${confirmed}; null where they never did.` },
        unsubscribed_at: time(`${left}.`),
      };
}

function isLater(type: Event['type']): type is Later {
  return LATER.some((each) => each === type);
}

const exampleContractor = { id: 'contractor-1', name: 'A Contractor' };

/** Takes a type; returns one example for each of its forms, by the name of the form. */
export function eventExamples(type: Event['type']): Record<string, Event> {
  const sentAt = '2026-09-01T12:03:00.000Z';
  const examples = formsThatCause(type).map((form): [string, Event] => [
    form.name,
    {
      type,
      timestamp: sentAt,
      data: {
        id: '0d6f2c1e-5b1a-4f37-9f0e-2a6a4f1f9c11',
        form: form.name,
        fields: exampleFields(form),
        recipient: receiverOf(form, { contractor: exampleContractor, operator: null }),
        origin: 'agent',
        client: 'acme-assistant',
        consent_recorded_at: sentAt,
        ...(type !== 'lead.created' && {
          ...{ origin: 'browser', client: null },
          ...exampleSubscriber(type, sentAt),
        }),
      },
    },
  ]);
  return Object.fromEntries(examples);
}

/** What is said of a subscriber as an example. */
function exampleSubscriber(type: SubscriberEvent, at: string): SubscriberData {
  const unsubscribe_url = `https://example.com${pathTo(routes.leavePage, { token: 'A'.repeat(22) })}`;
  if (type === 'subscriber.created') return { status: 'pending', unsubscribe_url };
  const hasLeft = type === 'subscriber.unsubscribed';
  return {
    status: hasLeft ? 'unsubscribed' : 'confirmed',
    unsubscribe_url,
    confirmed_at: at,
    unsubscribed_at: hasLeft ? at : null,
  };
}

function formsThatCause(type: Event['type']): Form[] {
  if (isLater(type)) return [forms.newsletter];
  return Object.values(forms).filter((form) => form.event === type);
}
