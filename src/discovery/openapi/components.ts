/** The reusable parts of the OpenAPI document: records, failures, headers and the credential. */
import { CONFIRMATION_STATEMENT } from '../../actions/confirmation.ts';
import { SCOPES } from '../../credentials/scopes.ts';
import { bounds } from '../../forms/bounds.ts';
import { type Form, forms } from '../../forms/catalog.ts';
import { eventSchema, eventTypes } from '../events.ts';
import {
  fieldsSchema,
  type JsonSchema,
  leadSchema,
  subscriptionSchema,
  titleOf,
} from '../form-schemas.ts';

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

const text = (description: string): JsonSchema => ({ type: 'string', description });
const time = (description: string): JsonSchema => ({ ...text(description), format: 'date-time' });
const actionName: JsonSchema = { enum: Object.keys(forms), description: 'The action.' };

/** An object that is complete: every property is required but those named, and there are no others. */
function record(
  description: string,
  properties: Record<string, JsonSchema>,
  optional: string[] = [],
): JsonSchema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', description, required, properties };
}

const receipt = record('The receipt of an execution. It never changes.', {
  action_id: { ...text('Identifier of the execution.'), format: 'uuid' },
  action: actionName,
  status: { enum: ['submitted', 'failed'] },
  created_at: time('When the execution was claimed.'),
  consent_recorded_at: time('When the consent was recorded.'),
  confirmation_text: text('The confirmation text that was supplied.'),
  result: record('`ok` is true where the status is `submitted`.', { ok: { type: 'boolean' } }),
});

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
    Preview: record('What to show the user before asking for their confirmation.', {
      ok: { const: true },
      preview_id: text('Signed token, `<payload>.<signature>`. Pass it to executeAction.'),
      action: actionName,
      fields: {
        type: 'object',
        description: 'The normalized fields.',
        additionalProperties: { type: 'string' },
      },
      created_at: time('When the preview was made.'),
      expires_at: time(
        `${bounds.previewLifetimeMinutes} minutes later. After that, call previewAction again.`,
      ),
      confirmation_required: { const: true },
      confirmation_statement: { const: CONFIRMATION_STATEMENT },
      destination: text('Name of the party that will receive the data.'),
    }),
    Receipt: receipt,
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
