/** The operations of an agent (reference §5.3, §5.6, §6, §7). */
import {
  exampleConfirmation,
  exampleExecution,
  examplePreview,
  examplePreviewId,
  exampleReceipt,
  exampleSignedReceipt,
} from '../../actions/examples.ts';
import { SCOPES, type Scope, scopeOf } from '../../credentials/clients.ts';
import { bounds } from '../../forms/bounds.ts';
import { exampleFields, type Form, forms } from '../../forms/catalog.ts';
import { destinationName, type Facts } from '../deployment.ts';
import { titleOf } from '../form-schemas.ts';
import { schema } from './components.ts';
import { byName, type Described, json, RATE_HEADERS, response } from './responses.ts';

/** Returns an operation that accepts any of the scopes. */
const operation = (
  scopes: readonly Scope[],
  description: string,
  rest: Pick<Described, 'parameters' | 'requestBody' | 'responses'>,
  isConsequential = false,
): Described => ({
  description,
  'x-openai-isConsequential': isConsequential,
  security: scopes.map((scope) => ({ agentCredential: [scope] })),
  ...rest,
});

const parameter = (place: string, name: string, description: string, schema: object, example: unknown) => {
  return { name, in: place, required: true, description, schema: { type: 'string', ...schema }, example };
};
const inPath = (name: string, description: string, example: unknown, schema: object = {}) =>
  parameter('path', name, description, schema, example);

const everyForm = Object.values(forms);
const names = Object.keys(forms);
const receipt = exampleReceipt('submitted');
const { id } = exampleConfirmation('pending');

// The example of the path parameter is the name of the first example body. So an imported document has a request that
// works.
const action = inPath('action', 'The action; getManifest lists them.', names[0], { enum: names });
const actionId = inPath('action_id', 'From the receipt that executeAction returned.', receipt.action_id, {
  format: 'uuid',
});
const confirmationId = inPath('id', 'The `id` of the confirmation, as createConfirmation returned it.', id);
const idempotencyKey = parameter(
  'header',
  'Idempotency-Key',
  'Made once for each user request and reused on a retry. Printable ASCII characters.',
  { minLength: 1, maxLength: bounds.idempotencyKeyLength, pattern: '^[ -~]+$' },
  '2f1c6c1e-9f0a-4b52-8e0e-6d1f5a3b7c20',
);

/** Returns the preview of a form's example. */
export function previewRecord(form: Form, facts: Facts) {
  return examplePreview(form, exampleFields(form), destinationName(form, facts) ?? 'A Contractor');
}

/**
 * The link to the second step. The link lacks `confirmation`, because only the user's explicit yes adds it (reference
 * §5.2).
 */
const previewToExecute = {
  operationId: 'executeAction',
  description: 'Only after the user has explicitly agreed: add `confirmation: true` and an Idempotency-Key header.',
  parameters: { action: '$request.path.action' },
  requestBody: {
    preview_id: '$response.body#/preview_id',
    confirmation_text: '$response.body#/confirmation_statement',
  },
};

const answer = (description: string, record: string, examples: Record<string, unknown>, further: string[] = []) =>
  response('actions', description, json(schema(record), examples), [...RATE_HEADERS, 'Sandbox', ...further]);

const body = (record: string, examples: Record<string, unknown>) => {
  return { required: true, content: json(schema(record), examples) };
};

const stateOf = (status: string) => ({ ok: true, confirmation: exampleConfirmation(status) });
const states = {
  pending: stateOf('pending'),
  submitted: { ...stateOf('submitted'), receipt },
  declined: stateOf('declined'),
};
const readState = (further: string[]) => ({
  parameters: [confirmationId],
  responses: { 200: answer('The state of the confirmation.', 'ConfirmationState', states, further) },
});
const created = (description: string, status: string) =>
  answer(description, 'NewConfirmation', { [status]: { ok: true, confirmation: exampleConfirmation(status, true) } });

/** Returns the operations by `operationId`. A preview has one titled body and one example for each action. */
export const agentOperations = (facts: Facts) => ({
  previewAction: operation(
    [scopeOf.preview],
    `Step one: validates the fields and returns what to show the user, with a token for ${bounds.previewLifetimeMinutes} minutes. Sends nothing to anybody. Unknown fields are ignored, and the header Ignored-Fields names them. After the user’s explicit yes, call executeAction.`,
    {
      parameters: [action],
      requestBody: {
        required: true,
        description: 'The fields of the action in the path.',
        content: json(
          { anyOf: names.map((name) => schema(`${titleOf(name)}Fields`)) },
          byName(everyForm, exampleFields),
        ),
      },
      responses: {
        200: {
          ...answer(
            'Show the user the fields, the destination and the statement; call executeAction only after an explicit yes.',
            'Preview',
            byName(everyForm, (form) => previewRecord(form, facts)),
            ['Ignored-Fields'],
          ),
          links: { execute: previewToExecute },
        },
      },
    },
  ),
  executeAction: operation(
    [scopeOf.execute],
    'Step two: submits what was previewed, once, after the user has explicitly agreed to the fields, the destination and the statement. A retry repeats the same key. After a failure call previewAction again and ask the user again.',
    {
      parameters: [action, idempotencyKey],
      requestBody: body('ExecuteRequest', { confirmed: exampleExecution }),
      responses: {
        200: answer(
          'Submitted, or replayed. Keep the receipt.',
          'Execution',
          { submitted: { ok: true, receipt }, replayed: { ok: true, receipt, replay: true } },
          ['Idempotent-Replayed', 'Link'],
        ),
      },
    },
    true,
  ),
  getReceipt: operation(
    SCOPES,
    'The receipt again, signed, so that anybody can verify it with the keys of getReceiptKeys: the same bytes each time. Only for the client that executed, and once the execution has ended.',
    {
      parameters: [actionId],
      responses: { 200: answer('Keep it, with its disclosures.', 'SignedReceipt', { signed: exampleSignedReceipt }) },
    },
  ),
  createConfirmation: operation(
    [scopeOf.execute],
    `Asks the user to confirm on a page of the service. Give them the confirmation_url and call getConfirmation until the status is not pending. It lives ${bounds.confirmationLifetimeMinutes} minutes. Sends nothing by itself.`,
    {
      parameters: [idempotencyKey],
      requestBody: body('ConfirmationRequest', {
        asked: { preview_id: examplePreviewId },
        withCode: { preview_id: examplePreviewId, via: 'page_email' },
      }),
      responses: {
        201: created('Asked. Give the user the confirmation_url; nobody else.', 'pending'),
        200: created('Asked before with this key and preview: its state.', 'submitted'),
      },
    },
  ),
  getConfirmation: operation(
    SCOPES,
    'What became of it. While it is pending, wait as long as Retry-After says. With `submitted` and `failed` comes the receipt.',
    readState(['Retry-After']),
  ),
  cancelConfirmation: operation(
    [scopeOf.execute],
    'Ends a pending confirmation: nothing is sent, and the link says so. One that has ended stays as it is.',
    readState([]),
  ),
});
