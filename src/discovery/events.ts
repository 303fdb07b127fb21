/** The events that are sent to the upstream (reference §9.3, §10.2), as JSON Schema 2020-12. */
import type { Form } from '../forms/catalog.ts';
import { formsThatCause, isLater } from '../submissions/events.ts';
import { receiverOf } from '../submissions/submission.ts';
import type { Event } from '../upstream/upstream.ts';
import { contractorSchema, type JsonSchema, normalizedFieldsSchema } from './form-schemas.ts';
import { text } from './record-schemas.ts';

const recipientSchema: JsonSchema = {
  type: 'object',
  description: 'The one contractor on the platform, chosen by the service.',
  required: ['id', 'name'],
  properties: { id: { type: 'string' }, name: { type: 'string' } },
  additionalProperties: false,
};

/** Returns the schema of an event's body. */
export function eventSchema(type: Event['type']): JsonSchema {
  const [first, ...others] = formsThatCause(type).map((form) => dataSchema(form, type));
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: type,
    description: 'The body of the one POST for an accepted submission, as Standard Webhooks.',
    type: 'object',
    required: ['type', 'timestamp', 'data'],
    properties: {
      type: { const: type },
      timestamp: { ...time, description: 'When it was sent.' },
      data: others.length === 0 ? first : { oneOf: [first, ...others] },
    },
    additionalProperties: false,
  };
}

function dataSchema(form: Form, type: Event['type']): JsonSchema {
  const subscription = subscriptionSchemas[type];
  return {
    title: form.name,
    type: 'object',
    required: [
      ...['id', 'form', 'fields', 'recipient', 'origin', 'client', 'consent_recorded_at'],
      ...(isLater(type) ? Object.keys(subscription) : []),
    ],
    properties: {
      id: text(
        'Equal to webhook-id and idempotency-key; of an execution, its action_id. Ignore one that was seen before.',
      ),
      form: { const: form.name },
      fields: normalizedFieldsSchema(form, type === 'lead.created' ? {} : { contractor: contractorSchema }),
      recipient: receiverOf(form, { contractor: recipientSchema, operator: { type: 'null' } }),
      origin: { enum: ['browser', 'agent'] },
      client: { type: ['string', 'null'], description: 'The agent client that executed; null for a browser.' },
      consent_recorded_at: {
        ...timeOrNull,
        description: 'When the person’s consent was recorded; equal to the receipt’s.',
      },
      ...subscription,
      test: {
        const: true,
        description:
          'Only in what `npm run doctor` sends, which is of nobody: verify it and answer as ever, and keep it out of what people work with.',
      },
    },
    additionalProperties: false,
  };
}

const time = { type: 'string', format: 'date-time' };
const timeOrNull = { type: ['string', 'null'], format: 'date-time' };
const unsubscribe_url = {
  type: 'string',
  format: 'uri',
  description:
    'For each message that you send: its List-Unsubscribe (RFC 8058), and the link to leave. It stays the same.',
};

/** Further members of a subscription's event. An event from an agent or from /api/leads has no `unsubscribe_url`. */
const subscriptionSchemas: Readonly<Record<Event['type'], Record<string, JsonSchema>>> = {
  'lead.created': {},
  'subscriber.created': {
    status: {
      enum: ['pending', 'confirmed'],
      description: '`pending` until the person has confirmed; `confirmed` where they had before.',
    },
    unsubscribe_url,
  },
  'subscriber.confirmed': {
    status: { const: 'confirmed' },
    unsubscribe_url,
    confirmed_at: { ...time, description: 'When the person confirmed.' },
    unsubscribed_at: { type: 'null', description: 'When the person left: they have not.' },
  },
  'subscriber.unsubscribed': {
    status: { const: 'unsubscribed' },
    unsubscribe_url,
    confirmed_at: { ...timeOrNull, description: 'When the person confirmed; null where they never did.' },
    unsubscribed_at: { ...time, description: 'When the person left.' },
  },
};
