/** The reusable parts of the OpenAPI document: schemas and the credential. */
import { CONFIRMATION_STATEMENT } from '../../actions/preview.ts';
import { SCOPES } from '../../credentials/clients.ts';
import { PROBLEM_TYPE } from '../../failures/render.ts';
import type { Form } from '../../forms/catalog.ts';
import { eventTypes } from '../../submissions/events.ts';
import { eventSchema } from '../events.ts';
import { fieldsSchema, type JsonSchema, leadSchema, subscriptionSchema, titleOf } from '../form-schemas.ts';
import {
  confirmationSchema,
  ok,
  pageVia,
  previewSchema,
  receiptKeysSchema,
  receiptSchema,
  record,
  signedReceiptSchema,
  text,
  uri,
} from '../record-schemas.ts';

/** Returns a reference to a component. */
export const reference = (section: 'schemas' | 'headers', name: string) => ({
  $ref: `#/components/${section}/${name}`,
});
export const schema = (name: string) => reference('schemas', name);

/** The credential of the agent routes (reference §16.1). */
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
  url: uri('The page for people.'),
};
const replay = { 'replay?': { const: true, description: 'Set on the replay of an earlier request.' } };
const error = text('A sentence fit to show a person, or a code.');
const retryable = {
  'retryable?': { const: true, description: 'The same request may be repeated as it is.' },
};
const ofForms = {
  'fields?': { type: 'array', description: 'The required fields that are missing.', items: { type: 'string' } },
  'retry_after?': { type: 'integer', minimum: 1, description: 'Seconds, as Retry-After.' },
};
const version = text('The API version.');
const receipt = schema('Receipt');

/** Returns every named schema: forms, events, and the records of reference §5 to §7. */
export function componentSchemas(everyForm: readonly Form[]): Record<string, JsonSchema> {
  const bodies = [...everyForm.map(fieldsSchema), ...everyForm.map(leadSchema), subscriptionSchema()];
  return {
    ...Object.fromEntries(bodies.map((each) => [String(each.title), each])),
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
    SignedReceipt: signedReceiptSchema(receipt),
    ReceiptKeys: receiptKeysSchema,
    Execution: record('The receipt of this execution, or of the earlier identical one.', { ok, receipt, ...replay }),
    FailedExecution: record('The execution failed and its preview is consumed.', { error, receipt, ...replay }),
    ConfirmationRequest: record('What the user is asked to confirm on a page.', {
      preview_id: text('The token from the preview.'),
      'via?': pageVia(
        'page: the user presses a button there. page_email: after a code from the mailbox in the fields. By default what the action takes at least.',
      ),
    }),
    NewConfirmation: record('A confirmation, with the page for the user.', {
      ok,
      confirmation: confirmationSchema(true),
    }),
    ConfirmationState: record('A confirmation, and its receipt once there is one.', {
      ok,
      confirmation: confirmationSchema(false),
      'receipt?': receipt,
    }),
    Problem: record('A failure on an agent or discovery route.', { error, ...retryable }),
    FormProblem: record('A failure on a form route, in JSON.', { error, ...ofForms }),
    ProblemDetails: record(
      `A failure as RFC 9457, for a request whose Accept header names \`${PROBLEM_TYPE}\`. It has every other member of the usual body.`,
      {
        type: uri('The description of the code in the API reference.'),
        title: text('What this code means.'),
        status: { type: 'integer', description: 'The HTTP status.' },
        detail: text('A sentence fit to show a person, with the next step.'),
        code: text('A word for this kind of failure, which never changes.'),
        request_id: text('The same as X-Request-Id.'),
        ...retryable,
        ...ofForms,
        'receipt?': receipt,
        ...replay,
      },
    ),
    Accepted: record('The submission was accepted.', { ok }),
    Manifest: {
      type: 'object',
      description: 'The manifest: each action with its fields and endpoints.',
      required: ['version', 'actions'],
      properties: { version, actions: { type: 'array', items: { type: 'object', additionalProperties: true } } },
      additionalProperties: true,
    },
    ContentIndex: record('The resources there are.', {
      version,
      resources: {
        type: 'array',
        items: record('One page.', { ...resourceEntry, markdown_url: uri('The same page in Markdown.') }),
      },
    }),
    ContentResource: record('One page with its Markdown.', {
      ...resourceEntry,
      markdown: text('The page in Markdown.'),
    }),
  };
}
