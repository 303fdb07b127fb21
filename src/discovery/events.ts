/** The events that go upstream (contract §3, beyond §6), as JSON Schema 2020-12. */
import type { Form } from '../forms/catalog.ts';
import { formsThatCause, isLater, type Later } from '../submissions/events.ts';
import { receiverOf } from '../submissions/recipient.ts';
import type { Event } from '../upstream/upstream.ts';
import { contractorSchema, type JsonSchema, normalizedFieldsSchema } from './form-schemas.ts';

const DIALECT = 'https://json-schema.org/draft/2020-12/schema';

const recipientSchema: JsonSchema = {
  type: 'object',
  description: 'The one contractor on the platform, chosen by the service.',
  required: ['id', 'name'],
  properties: { id: { type: 'string' }, name: { type: 'string' } },
  additionalProperties: false,
};

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
