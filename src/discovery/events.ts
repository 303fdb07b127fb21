/** The two events that go upstream (contract §3), as JSON Schema 2020-12. */
import { type Form, forms } from '../forms/catalog.ts';
import { receiverOf } from '../submissions/recipient.ts';
import type { Event } from '../upstream/upstream.ts';
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

/** The types of event that the forms of the catalogue cause. */
export const eventTypes: readonly Event['type'][] = [
  ...new Set(Object.values(forms).map((form) => form.event)),
];

/** Takes a type; returns the schema of its body. */
export function eventSchema(type: Event['type']): JsonSchema {
  const [first, ...others] = formsThatCause(type).map(dataSchema);
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

function dataSchema(form: Form): JsonSchema {
  return {
    title: form.name,
    type: 'object',
    required: ['id', 'form', 'fields', 'recipient', 'origin', 'client', 'consent_recorded_at'],
    properties: {
      id: {
        type: 'string',
        description:
          'Equal to webhook-id and idempotency-key; of an execution, its action_id. Ignore one that was seen before.',
      },
      form: { const: form.name },
      fields: normalizedFieldsSchema(
        form,
        form.event === 'subscriber.created' ? { contractor: contractorSchema } : {},
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
      test: {
        const: true,
        description:
          'Only in what `npm run doctor` sends, which is of nobody: verify it and answer as ever, and keep it out of what people work with.',
      },
    },
    additionalProperties: false,
  };
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
      },
    },
  ]);
  return Object.fromEntries(examples);
}

function formsThatCause(type: Event['type']): Form[] {
  return Object.values(forms).filter((form) => form.event === type);
}
