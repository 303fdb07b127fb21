/** The reusable parts of the OpenAPI document: records, failures, headers and the credential. */
import { CONFIRMATION_STATEMENT } from '../../actions/confirmation-statement.ts';
import { SCOPES } from '../../credentials/scopes.ts';
import type { Form } from '../../forms/catalog.ts';
import { eventTypes } from '../../submissions/events.ts';
import { eventSchema } from '../events.ts';
import {
  fieldsSchema,
  type JsonSchema,
  leadSchema,
  subscriptionSchema,
  titleOf,
} from '../form-schemas.ts';
import {
  confirmationSchema,
  previewSchema,
  receiptKeysSchema,
  receiptSchema,
  record,
  signedReceiptSchema,
  text,
} from '../record-schemas.ts';

/** Takes a section of the components and a name in it; returns the reference to it. */
export function reference(section: 'schemas' | 'headers', name: string): { $ref: string } {
  return { $ref: `#/components/${section}/${name}` };
}

/** The credential of the agent routes (spec §5). */
export const securitySchemes = {
  agentCredential: {
    type: 'http',
    scheme: 'bearer',
    description: `Issued by the operator on request for a named client. Scopes: ${SCOPES.map((scope) => `\`${scope}\``).join(', ')}; a client may hold one or both.`,
  },
};

const resourceEntry = {
  id: text('Identifier; pass it as `resource`.'),
  title: text('Title of the page.'),
  description: text('What the page is about.'),
  url: { ...text('The page for people.'), format: 'uri' },
};

const replay: JsonSchema = { const: true, description: 'Set on the replay of an earlier request.' };
const error = text('A sentence fit to show a person, or a code.');

/** Every named schema: those of the forms and events from the catalogue, and the records of spec §2. */
export function componentSchemas(everyForm: readonly Form[]): Record<string, JsonSchema> {
  return {
    ...named(everyForm.map(fieldsSchema)),
    ...named(everyForm.map(leadSchema)),
    ...named([subscriptionSchema()]),
    ...Object.fromEntries(eventTypes.map((type) => [`${titleOf(type)}Event`, eventSchema(type)])),
    ExecuteRequest: record('The body of an execution.', {
      preview_id: text('The token from the preview of the same action.'),
      confirmation: { const: true, description: 'Only after the user has explicitly agreed.' },
      confirmation_text: {
        const: CONFIRMATION_STATEMENT,
        description: 'The statement the user agreed to, character for character.',
      },
    }),
    Preview: previewSchema,
    Receipt: receiptSchema,
    SignedReceipt: signedReceiptSchema(reference('schemas', 'Receipt')),
    ReceiptKeys: receiptKeysSchema,
    Execution: record(
      'The receipt of this execution, or of the earlier identical one.',
      { ok: { const: true }, receipt: reference('schemas', 'Receipt'), replay },
      ['replay'],
    ),
    FailedExecution: record(
      'The execution failed and its preview is consumed.',
      { error, receipt: reference('schemas', 'Receipt'), replay },
      ['replay'],
    ),
    ConfirmationRequest: record(
      'What the user is asked to confirm on a page.',
      {
        preview_id: text('The token from the preview.'),
        via: {
          enum: ['page', 'page_email'],
          description:
            'page: the user presses a button there. page_email: after a code from the mailbox in the fields. By default what the action takes at least.',
        },
      },
      ['via'],
    ),
    NewConfirmation: record('A confirmation, with the page for the user.', {
      ok: { const: true },
      confirmation: confirmationSchema(true),
    }),
    ConfirmationState: record(
      'A confirmation, and its receipt once there is one.',
      {
        ok: { const: true },
        confirmation: confirmationSchema(false),
        receipt: reference('schemas', 'Receipt'),
      },
      ['receipt'],
    ),
    Problem: record(
      'A failure on an agent or discovery route.',
      {
        error,
        retryable: { const: true, description: 'The same request may be repeated as it is.' },
      },
      ['retryable'],
    ),
    FormProblem: record(
      'A failure on a form route, in JSON.',
      {
        error,
        fields: {
          type: 'array',
          description: 'The required fields that are missing.',
          items: { type: 'string' },
        },
        retry_after: { type: 'integer', minimum: 1, description: 'Seconds, as Retry-After.' },
      },
      ['fields', 'retry_after'],
    ),
    Accepted: record('The submission was accepted.', { ok: { const: true } }),
    Manifest: {
      type: 'object',
      description: 'The manifest: each action with its fields and endpoints.',
      required: ['version', 'actions'],
      properties: {
        version: text('The API version.'),
        actions: { type: 'array', items: { type: 'object', additionalProperties: true } },
      },
      additionalProperties: true,
    },
    ContentIndex: record('The resources there are.', {
      version: text('The API version.'),
      resources: {
        type: 'array',
        items: record('One page.', {
          ...resourceEntry,
          markdown_url: { ...text('The same page in Markdown.'), format: 'uri' },
        }),
      },
    }),
    ContentResource: record('One page with its Markdown.', {
      ...resourceEntry,
      markdown: text('The page in Markdown.'),
    }),
  };
}

function named(schemas: JsonSchema[]): Record<string, JsonSchema> {
  return Object.fromEntries(schemas.map((schema) => [String(schema.title), schema]));
}
